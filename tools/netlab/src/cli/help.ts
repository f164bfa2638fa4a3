export const HELP = `netlab: hosts, links and switches of network namespaces, on one Linux machine, as root

  netlab run   [lab options] [--on HOST | --each] -- COMMAND...   create a lab, run a command, remove the lab
  netlab shell [lab options] [--on HOST]                          the same with a shell
  netlab up    [lab options] [--name NAME]                        create a lab that stays
  netlab down  [--lab NAME | --all]                               remove it
  netlab exec  [--lab NAME] HOST -- COMMAND...                    run a command inside a host
  netlab list  [--json]                                           labs, hosts, addresses
  netlab check                                                    list the features of the kernel
  netlab gc    [--all]                                            remove labs of dead processes; --all: every lab
                                                                  made by 'up', too
At run time, each with [--lab NAME]:
  netlab cut HOST | heal HOST          packets of its link are dropped silently | pass again
  netlab slow HOST RATE                both directions of its link, such as 200mbit
  netlab slow-path HOST HOST RATE      only the traffic between these two
  netlab slow-rack RACK RATE           a rack's link to the core; racks count from 0
  netlab loss HOST SHARE               such as 1%       (kernel module sch_netem)
  netlab delay HOST TIME               such as 5ms      (kernel module sch_netem)
  netlab pause HOST | resume HOST      stop all its processes | continue them
  netlab goodput FROM TO [MEBIBYTES]   one plain TCP stream, 64 MiB: the baseline for comparisons

Lab options:
  --hosts N | a,b,c   how many (h0, h1, ...), or their names            default 2
  --rate RATE         each direction of each host's link, as tc writes it: 400mbit, 1gbit
                      without it links are as fast as the machine
  --burst SIZE        the shaper's token bucket                         default 128kb
  --latency TIME      the longest a packet waits before a full link     default 50ms
  --delay TIME        of each direction of each link; a round trip has four
  --loss SHARE        of each direction of each link
  --racks N           divide the hosts, in order, among N switches joined to a core switch
  --uplink RATE       of each rack's link to the core                   default: --rate

Without --lab, the lab is that of $NETLAB, or the only one. Inside 'run' and 'shell' the environment
has NETLAB (its name), NETLAB_HOSTS, NETLAB_ADDRESSES, and inside a host NETLAB_HOST; names resolve there.
'netlab-rsh HOST COMMAND...' replaces ssh: scripts, mpirun and other tools run programs in hosts with it.
Hosts share the machine's files; with NETLAB_HOMES=DIR 'netlab-rsh' starts in DIR/HOST, created if missing.

Examples:
  netlab run --hosts 8 --rate 400mbit -- sh -c 'netlab goodput h0 h7'
  netlab run --hosts 4 --rate 1gbit --each -- ip -br address
  netlab up --hosts 16 --racks 4 --rate 400mbit --name cluster
  netlab exec h3 -- bash
  netlab slow h3 200mbit; netlab cut h5; netlab down
  netlab run --hosts 4 --rate 400mbit -- sh -c 'mpirun -np 4 --host h0,h1,h2,h3 \\
    --mca plm_rsh_agent netlab-rsh ./program'
`;
