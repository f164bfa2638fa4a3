/** The style of a timeline page, for light and dark screens. */
export const pageStyle = `
:root { color-scheme: light dark; --text: #1b1f24; --ground: #ffffff; --line: #d0d7de; --mark: #0550ae; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --ground: #0d1117; --line: #30363d; --mark: #79c0ff; }
}
body { margin: 1rem; font: 15px/1.45 system-ui, sans-serif; color: var(--text); background: var(--ground); }
h1 { font-size: 1.3rem; margin: 0 0 0.5rem; }
pre { margin: 0 0 0.5rem; overflow-x: auto; }
p { margin: 0 0 0.5rem; }
kbd { border: 1px solid var(--line); border-radius: 3px; padding: 0 0.25em; font: inherit; }
canvas { display: block; width: 100%; border: 1px solid var(--line); touch-action: none; }
canvas:focus-visible { outline: 2px solid var(--mark); }
#legend span { display: inline-block; margin-right: 1em; }
#legend i { display: inline-block; width: 0.9em; height: 0.9em; margin-right: 0.3em; vertical-align: -0.1em; }
#details { min-height: 3em; }
`;
