package reliable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// bookOfChild is a server on which children write down what they did. No fault meets it.
const bookOfChild = "RELIABLE_BOOK"

// book is what was added, and what was handled, by number.
type book struct {
	client rueidis.Client
	name   string
}

func (b book) note(deed, number string) {
	if err := b.client.Do(context.Background(), b.client.B().Arbitrary("SETBIT").Keys(b.name+deed).Args(number, "1").Build()).Error(); err != nil {
		panic(err)
	}
}

// missing is which numbers have the one deed and not the other, and how many have the first.
func (b book) missing(t *testing.T, deed, other string) (missing []int, all int) {
	t.Helper()
	var bits [2][]byte
	for i, key := range []string{deed, other} {
		text, err := b.client.Do(t.Context(), b.client.B().Get().Key(b.name+key).Build()).AsBytes()
		require.NoError(t, err)
		bits[i] = append(text, 0)
	}
	for i := range 8 * (len(bits[0]) - 1) {
		has := func(bits []byte) bool { return i/8 < len(bits) && bits[i/8]&(0x80>>(i%8)) != 0 }
		if has(bits[0]) {
			all++
			if !has(bits[1]) {
				missing = append(missing, i)
			}
		}
	}
	return missing, all
}

// mortalChild handles messages until it is killed.
func mortalChild(p *redistest.Parent) {
	q, _ := childQueue()
	b := book{childClient(os.Getenv(bookOfChild)), q.name}
	p.Say("ready")
	err := q.Serve(context.Background(), b.handle, WithConcurrency(4))
	p.Say("ended: %v", err)
}

// handle writes a message down, and does with it what may be done with one.
func (b book) handle(ctx context.Context, m *Message[string]) error {
	time.Sleep(rand.N(5 * time.Millisecond))
	if rand.N(400) == 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(rand.N(1500 * time.Millisecond)):
		}
	}
	switch again := errors.New("again"); rand.N(60) {
	case 0:
		return again
	case 1:
		return RetryIn(again, rand.N(200*time.Millisecond))
	case 2:
		return m.Release(ctx)
	}
	b.note("handled", m.Value)
	if m.Header["answer"] != "" {
		return m.AckWith(ctx, []byte(m.Value), time.Minute)
	}
	return nil
}

// steady is a process that adds and handles all the while, and says how large it is.
type steady struct {
	*Queue[string]
	book
	number, unknown, refused, answered, unanswered atomic.Int64
}

// perSecond is how many messages are added in a second, each of eight goroutines its part.
const (
	perSecond = 500
	adders    = 8
)

// steadyChild is one. It stops to add when it hears "sample", and ends when it hears "end".
func steadyChild(p *redistest.Parent) {
	q, client := childQueue()
	s := &steady{Queue: q, book: book{childClient(os.Getenv(bookOfChild)), q.name}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- q.Serve(ctx, s.handle, WithConcurrency(16)) }()
	var receivers sync.WaitGroup
	for range 2 {
		receivers.Go(func() { s.receives(ctx) })
	}
	p.Say("ready")
	for heard := ""; heard != "end"; {
		adding, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		for range adders {
			all.Go(func() { s.adds(adding, &all) })
		}
		heard, _ = p.Hear()
		stop()
		all.Wait()
		s.empties()
		p.Say("%s", s.size())
	}
	cancel()
	receivers.Wait()
	err := <-ended
	closed := locking.Close(context.Background(), q.h.e)
	client.Close()
	p.Say("ended: %v, %v", err, closed)
}

func (s *steady) receives(ctx context.Context) {
	for ctx.Err() == nil {
		for m, err := range s.Consume(ctx) {
			if err != nil {
				break
			}
			s.note("handled", m.Value)
			if m.Header["answer"] != "" {
				_ = m.AckWith(context.Background(), []byte(m.Value), time.Minute)
			} else {
				_ = m.Ack(context.Background())
			}
		}
	}
}

// adds adds messages of all kinds.
func (s *steady) adds(ctx context.Context, all *sync.WaitGroup) {
	tick := time.NewTicker(time.Second * adders / perSecond)
	defer tick.Stop()
	for range tick.C {
		if ctx.Err() != nil {
			return
		}
		i := int(s.number.Add(1))
		v, opts := strconv.Itoa(i), kindOf(i)
		if i%50 == 0 {
			opts = append(opts, WithHeader("answer", "yes"))
		}
		id, err := s.Add(context.Background(), v, opts...)
		switch {
		case err == nil:
			s.note("added", v)
		case errors.Is(err, ErrOutcomeUnknown):
			s.unknown.Add(1)
		default:
			s.refused.Add(1)
		}
		if err == nil && i%50 == 0 {
			all.Go(func() { s.awaits(id) })
		}
	}
}

func (s *steady) awaits(id int64) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := s.Await(ctx, id); err == nil {
		s.answered.Add(1)
	} else {
		s.unanswered.Add(1)
	}
}

// empties waits until nothing is left to be handled.
func (s *steady) empties() {
	for {
		of, err := s.Stats(context.Background())
		if err == nil && of.Ready+of.Delayed+of.Running+of.Behind == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// size is how large the process is while nothing happens.
func (s *steady) size() string {
	time.Sleep(300 * time.Millisecond)
	return fmt.Sprintf("size %d %d %d %d %d %d %d", redistest.HeapInUse(), runtime.NumGoroutine(),
		s.number.Load(), s.unknown.Load(), s.refused.Load(), s.answered.Load(), s.unanswered.Load())
}

// soak is a queue, processes that work on it, and what is done to them.
type soak struct {
	*rig
	t       *testing.T
	addrs   string
	env     []string
	steady  *redistest.Child
	mortals []*redistest.Child
	proxies []*redistest.Proxy
	servers []*redistest.Server
	sizes   map[string][]int
	slack   int // of the heap, kB
}

// ofConnection is what rueidis has for a connection, kB.
const ofConnection = 1370

// soakLease is the lease of all messages, and soakFault how long a fault lasts that is longer than it.
const (
	soakLease = time.Second
	soakFault = 1700 * time.Millisecond
)

func newSoak(t *testing.T, raw rueidis.Client, servers ...*redistest.Server) *soak {
	s := &soak{rig: rigOn(t, raw), t: t, servers: servers, sizes: map[string][]int{}}
	var addrs, through []string
	for _, server := range servers {
		proxy := redistest.NewProxy(t, server.Addr())
		s.proxies = append(s.proxies, proxy)
		addrs = append(addrs, server.Addr())
		through = append(through, server.Addr()+"="+proxy.Addr())
	}
	s.addrs = strings.Join(addrs, ",")
	s.env = []string{bookOfChild + "=" + redistest.Shared(t).Addr()}
	s.steady = s.starts("steady", throughOfChild+"="+strings.Join(through, ","))
	for range 2 {
		s.mortals = append(s.mortals, s.starts("mortal"))
	}
	return s
}

func (s *soak) starts(kind string, env ...string) *redistest.Child {
	s.t.Helper()
	return s.child(s.addrs, kind, soakLease, 1000, append(env, s.env...)...)
}

// sample has the processes come to rest, and notes how large all is then.
func (s *soak) sample(word string) {
	s.t.Helper()
	s.steady.Send("%s", word)
	line, ok := s.steady.AwaitFor("size ", 2*time.Minute)
	require.True(s.t, ok, "what was added is not handled: %v", s.at())
	var heap, goroutines, added, unknown, refused, answered, unanswered int
	_, err := fmt.Sscanf(line, "size %d %d %d %d %d %d %d", &heap, &goroutines, &added, &unknown, &refused, &answered, &unanswered)
	require.NoError(s.t, err)
	connections := 0
	for _, p := range s.proxies {
		p.ResetLog()
		connections += len(p.Conns())
	}
	keys := slices.DeleteFunc(s.keys(), func(key string) bool { // each result ends at its own time
		return strings.HasPrefix(key, "rueidisson_queue_result:")
	})
	s.t.Logf("heap %d kB, goroutines %d, connections %d, keys %d; tried to add %d (unknown %d, refused %d), awaited %d (in vain %d)",
		heap>>10, goroutines, connections, len(keys), added, unknown, refused, answered, unanswered)
	for what, n := range map[string]int{"heap, kB": heap>>10 - connections*ofConnection, "goroutines": goroutines, "connections": connections, "keys": len(keys)} {
		s.sizes[what] = append(s.sizes[what], n)
	}
}

func (s *soak) at() string {
	of, err := s.Stats(s.t.Context())
	return fmt.Sprintf("%+v, %v", of, err)
}

// keys is all keys of the servers.
func (s *soak) keys() (all []string) {
	s.t.Helper()
	for _, server := range s.servers {
		client := server.Client(s.t, func(o *rueidis.ClientOption) { o.DisableRetry = true })
		role, err := client.Do(s.t.Context(), client.B().Role().Build()).ToArray()
		require.NoError(s.t, err)
		if what, err := role[0].ToString(); err == nil && what == "master" {
			keys, err := client.Do(s.t.Context(), client.B().Keys().Pattern("*").Build()).AsStrSlice()
			require.NoError(s.t, err)
			all = append(all, keys...)
		}
		client.Close()
	}
	return all
}

// flat checks that nothing has grown: the smallest of the last third is no more than the largest of the first third.
func (s *soak) flat(what string, slack int) {
	s.t.Helper()
	all := s.sizes[what]
	third := (len(all) + 2) / 3
	first, last := slices.Max(all[:third]), slices.Min(all[len(all)-third:])
	require.LessOrEqual(s.t, last, first+first/10+slack, "%s: %v", what, all)
}

// harm is something that is done to the processes or to the servers.
type harm struct {
	name string
	do   func(s *soak)
}

var harms = []harm{
	{"a consumer is killed", func(s *soak) {
		i := rand.N(len(s.mortals))
		s.mortals[i].Kill()
		s.mortals[i] = s.starts("mortal")
	}},
	{"a consumer is stopped", func(s *soak) {
		c := s.mortals[rand.N(len(s.mortals))]
		c.Stop()
		time.Sleep(soakFault)
		c.Cont()
	}},
	{"the one that adds is stopped", func(s *soak) {
		s.steady.Stop()
		time.Sleep(soakFault)
		s.steady.Cont()
	}},
	{"connections are cut", func(s *soak) {
		for range 10 {
			s.each((*redistest.Proxy).CutAll)
			time.Sleep(soakFault / 10)
		}
	}},
	{"replies are lost", func(s *soak) {
		for range 10 {
			s.each(func(p *redistest.Proxy) { p.DropReply(redistest.AnyScript(), 1) })
			time.Sleep(soakFault / 10)
		}
	}},
	{"nothing gets through", func(s *soak) {
		s.each((*redistest.Proxy).BlackHole)
		time.Sleep(soakFault)
		s.each((*redistest.Proxy).Restore)
	}},
	{"scripts are forgotten", func(s *soak) {
		for _, server := range s.servers {
			server.FlushScripts()
		}
	}},
}

// sets configures the server, which may just have started again.
func (s *soak) sets(name, value string) {
	s.t.Helper()
	redistest.Eventually(s.t, func() bool {
		return s.raw.Do(s.t.Context(), s.raw.B().ConfigSet().ParameterValue().ParameterValue(name, value).Build()).Error() == nil
	}, soon, 20*time.Millisecond)
}

func (s *soak) each(do func(*redistest.Proxy)) {
	for _, p := range s.proxies {
		do(p)
	}
}

// ofOne is what is done to a single server.
var ofOne = []harm{
	{"the server restarts", func(s *soak) { s.servers[0].Restart() }},
	{"the server stands still", func(s *soak) {
		s.servers[0].Pause()
		time.Sleep(soakFault)
		s.servers[0].Resume()
	}},
	{"the server is full", func(s *soak) {
		s.sets("maxmemory", "1")
		time.Sleep(soakFault)
		s.sets("maxmemory", "0")
	}},
	{"the disk is full", func(s *soak) {
		was, err := s.raw.Do(s.t.Context(), s.raw.B().ConfigGet().Parameter("dir").Build()).AsStrMap()
		require.NoError(s.t, err)
		s.sets("dir", "/proc")
		redistest.Eventually(s.t, func() bool {
			_ = s.raw.Do(s.t.Context(), s.raw.B().Bgsave().Build()).Error() // one may be under way
			m := s.do("INFO", "persistence")
			info, err := m.ToString()
			return err == nil && strings.Contains(info, "rdb_last_bgsave_status:err")
		}, soon, 20*time.Millisecond)
		s.sets("stop-writes-on-bgsave-error", "yes")
		time.Sleep(soakFault)
		s.sets("stop-writes-on-bgsave-error", "no")
		s.sets("dir", was["dir"])
	}},
	{"replicas are missing", func(s *soak) {
		s.sets("min-replicas-to-write", "1")
		time.Sleep(soakFault)
		s.sets("min-replicas-to-write", "0")
	}},
}

// TestNothingGrowsUnderFaults: what was added is handled, whatever happens, and then all is as large as it was.
func TestNothingGrowsUnderFaults(t *testing.T) {
	t.Parallel()
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"),
			redistest.Config("enable-protected-configs", "yes"), redistest.Config("save", "3600", "1000000"),
			redistest.Config("stop-writes-on-bgsave-error", "no"))
		s := newSoak(t, server.Client(t), server)
		s.slack = 3 * ofConnection
		s.runs(append(slices.Clone(harms), ofOne...))
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := redistest.StartCluster(t)
		s := newSoak(t, cluster.Client(t), cluster.Nodes()...)
		s.slack = 16 * ofConnection // rueidis keeps dead ones in the pools of nodes that it has no use for
		s.runs(append(slices.Clone(harms), ofCluster(cluster)...))
	})
}

// ofCluster is what is done to a cluster.
func ofCluster(cluster *redistest.Cluster) []harm {
	return []harm{
		{"a slot moves", func(s *soak) {
			m := cluster.StartMigration(s.t, s.part("body"))
			m.Move(s.t, s.part("body"), s.part("ready"))
			time.Sleep(soakFault / 2)
			m.Move(s.t, s.part("lease"))
			time.Sleep(soakFault / 2)
			m.Finish(s.t)
		}},
		{"a replica takes over", func(s *soak) {
			master, replica := cluster.Master(s.part("body")), cluster.Replica(s.part("body"))
			client := replica.Client(s.t)
			redistest.Do(s.t, client, "CLUSTER", "FAILOVER")
			client.Close()
			cluster.AwaitMaster(s.t, s.part("body"), master.Addr())
			cluster.AwaitComplete(s.t)
		}},
	}
}

// runs does harm, one behind the other, and looks how large all is between.
func (s *soak) runs(all []harm) {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	rounds, every := redistest.Count(s.t, 2, 30), redistest.Span(s.t, time.Second, 20*time.Second)
	s.sample("sample")
	for i := range rounds {
		next := time.Now().Add(every)
		h := all[i/2%len(all)] // each twice: as many connections as the first time needs stay, and the second adds none
		s.t.Logf("%v: %s", time.Now().Format(time.TimeOnly), h.name)
		h.do(s)
		time.Sleep(max(time.Until(next), 500*time.Millisecond))
		s.sample("sample")
	}
	s.sample("end")
	require.Equal(s.t, "ended: <nil>, <nil>", s.steady.Await("ended"))
	for _, c := range s.mortals {
		c.Kill()
	}
	s.handled()
	s.flat("heap, kB", s.slack)
	s.flat("goroutines", 5)
	s.flat("connections", max(3, len(s.servers))) // a replica that took over has some of its own
	s.flat("keys", 10)
}

// handled checks that nothing is lost, and nothing left.
func (s *soak) handled() {
	s.t.Helper()
	server := redistest.Shared(s.t)
	missing, added := book{server.Client(s.t), s.name}.missing(s.t, "added", "handled")
	require.Empty(s.t, missing)
	require.Positive(s.t, added)
	s.t.Logf("%d were added for sure, all were handled; %s", added, s.at())
	s.leaves()
	require.Equal(s.t, s.counter("added"), s.counter("acked"))
	for _, key := range s.keys() {
		left, err := asInt(s.do("PTTL", key))
		require.NoError(s.t, err)
		require.True(s.t, left > 0 || left == -2 || key == s.part("meta"), "%s stays", key)
	}
}
