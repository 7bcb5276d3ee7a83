package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/redlock"
)

// Names of topologies.
const (
	onSingle   = "single"
	onSentinel = "sentinel"
	onCluster  = "cluster"
	onFive     = "redlock"
)

// topology is how servers belong together.
type topology struct {
	name  string
	needs []string // groups of nemeses: in a long run each object must have had a chance under each of them
	start func(t testing.TB, version string) site
}

// topologies begins with the one of short runs.
var topologies = []topology{
	{onSingle, []string{"network", "clients", "refusals", "server"}, func(t testing.TB, version string) (s site) {
		server := (*redistest.Server)(nil)
		if setsClocks() {
			server, s.clock = redistest.StartWithClock(t, redistest.Version(version))
		} else {
			server = redistest.Start(t, redistest.Version(version))
		}
		s.servers = []*redistest.Server{server}
		s.entries = []entry{alone(server.Addr())}
		return s
	}},
	{onSentinel, []string{"network"}, func(t testing.TB, version string) site {
		s := redistest.StartSentinel(t, redistest.Version(version))
		return site{servers: s.Nodes(), sentinel: s, entries: []entry{{Addrs: s.Addrs(), Master: s.MasterName()}}}
	}},
	{onCluster, []string{"network", "slot moves"}, func(t testing.TB, version string) site {
		c := redistest.StartCluster(t, redistest.Version(version))
		return site{servers: c.Nodes(), cluster: c, entries: []entry{{Addrs: c.Addrs()}}}
	}},
	{onFive, []string{"network", "clients", "refusals", "server", "minority"}, func(t testing.TB, version string) (s site) {
		for range 5 {
			server := redistest.Start(t, redistest.Version(version))
			s.servers = append(s.servers, server)
			s.entries = append(s.entries, alone(server.Addr()))
		}
		return s
	}},
}

// setsClocks reports whether single servers have clocks that nemeses set: in long runs, where there is a compiler for it.
func setsClocks() bool {
	_, err := exec.LookPath("cc")
	return *total > 0 && runtime.GOOS == "linux" && (err == nil || os.Getenv("RUEIDISSON_REQUIRE_SERVERS") == "1")
}

func topologyNames(yield func(string) bool) {
	for _, t := range topologies {
		if !yield(t.name) {
			return
		}
	}
}

// has reports whether an object has a meaning on the topology.
func (t topology) has(o object) bool {
	if o.places == nil {
		return t.name != onFive
	}
	return slices.Contains(o.places, t.name)
}

// meets reports whether a nemesis breaks something that the arena has.
func (a *arena) meets(n nemesis) bool {
	if n.clocked && a.site.clock == nil {
		return false
	}
	if n.on == nil { // a server of several may be replaced meanwhile
		return a.at.name == onSingle || n.group != "server"
	}
	return slices.Contains(n.on, a.at.name)
}

// fits reports whether a nemesis breaks something of an object here.
func (a *arena) fits(o object, n nemesis) bool {
	return a.at.has(o) && o.on(a.version) && a.meets(n) && n.concerns(o)
}

// placed returns an object under the name that it has in the report: that of its topology is a part of it, except on one server.
func (t topology) placed(o object) object {
	if t.name != onSingle {
		o.name += ", " + t.name
	}
	return o
}

// places returns the names of all objects on all topologies, and the groups of nemeses under which each needs a chance.
func places(yield func(name string, needs []string) bool) {
	for _, t := range topologies {
		for _, o := range objects {
			if t.has(o) && !yield(t.placed(o).name, t.needsOf(o)) {
				return
			}
		}
	}
}

// needsOf returns the groups of nemeses that concern an object of the topology.
func (t topology) needsOf(o object) (groups []string) {
	for _, g := range t.needs {
		if t.has(o) && slices.ContainsFunc(nemeses, func(n nemesis) bool { return n.group == g && n.concerns(o) }) {
			groups = append(groups, g)
		}
	}
	return groups
}

// placedNames returns the names of [places].
func placedNames(yield func(string) bool) {
	for name := range places {
		if !yield(name) {
			return
		}
	}
}

// lane is an arena that works at the same time as others.
type lane struct {
	at      topology
	version string
}

// stages returns the lanes of a long run. Those of a stage work at the same time, and each stage has the same share of the time:
// single servers of all versions, and then the other topologies.
func stages(seed uint64) (all [][]lane) {
	var stage []lane
	some := left(versionNames)
	for _, version := range some {
		stage = append(stage, lane{topologies[0], version})
	}
	if chosen(onSingle, topologyNames) {
		all = append(all, stage)
	}
	stage = nil
	for i, t := range topologies[1:] {
		if chosen(t.name, topologyNames) {
			stage = append(stage, lane{t, some[(int(seed%uint64(len(some)))+i)%len(some)]})
		}
	}
	if len(stage) > 0 {
		all = append(all, stage)
	}
	return all
}

// shortLanes returns the lanes of a short run, which share the objects: single servers, or the topologies that -only names.
func shortLanes(seed uint64) []lane {
	if all := stages(seed); !chosen(onSingle, topologyNames) {
		return all[0]
	}
	var run []lane
	for i, some := 0, left(versionNames); i < lanes; i++ {
		run = append(run, lane{topologies[0], some[i%len(some)]})
	}
	return run
}

// site is the servers of an arena.
type site struct {
	servers  []*redistest.Server // that have data: each process has a proxy before each of them
	entries  []entry             // one for each client of a process
	clock    *redistest.Clock    // nil: nobody sets it
	ahead    time.Duration       // of the clock
	sentinel *redistest.Sentinel
	cluster  *redistest.Cluster
}

// entry tells how a client finds its servers.
type entry struct {
	Addrs   []string
	Master  string            // that the Sentinels at the addresses watch
	Single  bool              // there is one server
	Through map[string]string // addresses of proxies, by those of the servers that are reached through them
}

// alone is the entry to one server.
func alone(addr string) entry { return entry{Addrs: []string{addr}, Single: true} }

func (e entry) open(opts ...rueidisson.Option) (*rueidisson.Client, error) {
	return redistest.Patient(func() (*rueidisson.Client, error) {
		return rueidisson.New(rueidis.ClientOption{
			InitAddress: e.Addrs, DisableCache: true, ForceSingleClient: e.Single,
			Sentinel: rueidis.SentinelOption{MasterSet: e.Master}, DialCtxFn: redistest.ThroughAddrs(e.Through),
		}, opts...)
	})
}

// raw returns a plain client without proxies.
func (s *site) raw(t testing.TB) rueidis.Client {
	switch {
	case s.sentinel != nil:
		return s.sentinel.Client(t)
	case s.cluster != nil:
		return s.cluster.Client(t)
	}
	return s.servers[0].Client(t)
}

// master returns a server that takes writes of a name now.
func (s *site) master(f *field, name string) *redistest.Server {
	switch {
	case s.sentinel != nil:
		return s.sentinel.Master()
	case s.cluster != nil:
		return s.cluster.Master(name)
	}
	return s.servers[f.rnd.IntN(len(s.servers))]
}

// replica returns the server that would take over from the master of a name.
func (s *site) replica(name string) *redistest.Server {
	if s.cluster != nil {
		return s.cluster.Replica(name)
	}
	return s.sentinel.Replica()
}

// reign returns what changes when a server takes over from another one.
func (a *arena) reign(ctx context.Context) (masters []string) {
	if a.site.sentinel == nil && a.site.cluster == nil {
		return nil
	}
	for _, s := range a.site.servers {
		text, err := a.admin(s).Do(ctx, a.admin(s).B().Info().Section("replication").Build()).ToString()
		if err != nil || strings.Contains(text, "role:master") {
			_, id, _ := strings.Cut(text, "master_replid:")
			id, _, _ = strings.Cut(id, "\r")
			masters = append(masters, fmt.Sprint(s.Addr(), " ", id, err))
		}
	}
	return masters
}

// red is a lock of five servers, each by a client of its own.
var red = object{name: "red", places: []string{onFive}, limit: 1, leased: true, acquire: func(ctx context.Context, _ *rueidisson.Client, t terms) (held, error) {
	name := t.name()
	var all []lock.Locker
	for _, c := range t.members {
		all = append(all, c.Lock(name))
	}
	h, err := redlock.New(all...).With(redlock.WithRestartGuard(longest), redlock.WithMemberTimeout(redistest.Scaled(100*time.Millisecond))).Lock(ctx, t.options()...)
	return holding(h, err, []string{name}, false)
}}

// TestObjectsAndNemesesHaveTheirTopologies: a red lock needs five servers, and nothing else runs there. What some versions have is on single
// servers, of which there are all versions. Each topology has a short nemesis of each group in which an object needs chances.
func TestObjectsAndNemesesHaveTheirTopologies(t *testing.T) {
	t.Parallel()
	for _, at := range topologies {
		for _, o := range objects {
			want := (at.name == onFive) == slices.Contains(o.places, onFive) && (at.name == onSingle || o.versions == nil)
			require.Equal(t, want, at.has(o), "%s, %s", o.name, at.name)
			a := &arena{at: at, version: "8.0"}
			for _, g := range at.needsOf(o) {
				require.True(t, slices.ContainsFunc(nemeses, func(n nemesis) bool {
					return n.group == g && n.quick() && (n.holdOn || o.do != nil) && a.fits(o, n)
				}), "%s: %s", at.placed(o).name, g)
			}
		}
	}
	for name, want := range map[string][]string{
		"cut":             {onSingle, onSentinel, onCluster, onFive},
		"stopped-server":  {onSingle, onFive},
		"slot-moves":      {onCluster},
		"partition":       {onSentinel},
		"minority-dead":   {onFive},
		"clock-forward":   nil,
		"restarted-empty": {onSingle},
	} {
		n := nemeses[slices.IndexFunc(nemeses, func(n nemesis) bool { return n.name == name })]
		var got []string
		for _, at := range topologies {
			if (&arena{at: at}).meets(n) {
				got = append(got, at.name)
			}
		}
		require.Equal(t, want, got, name)
		if n.clocked {
			require.True(t, (&arena{at: topologies[0], site: site{clock: &redistest.Clock{}}}).meets(n), name)
		}
	}
}

// TestANewReignIsSeen: a failover that no nemesis made is told from what a slow machine does.
func TestANewReignIsSeen(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	a := &arena{t: t, site: site{servers: s.Nodes(), sentinel: s}, admins: map[*redistest.Server]rueidis.Client{}}
	before := a.reign(t.Context())
	require.Len(t, before, 1)
	require.Equal(t, before, a.reign(t.Context()))
	old := s.Master()
	old.Pause()
	s.AwaitMaster(t, old.Addr())
	old.Resume()
	s.AwaitComplete(t)
	require.NotEqual(t, before, a.reign(t.Context()))
	require.Empty(t, (&arena{}).reign(t.Context()), "one server")
}
