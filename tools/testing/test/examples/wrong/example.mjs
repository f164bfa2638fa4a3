console.log('two');
