package nearcache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// nearSilence is the bound of the model's near caches.
const nearSilence = time.Second

// nearKeys is how many entries the processes of the model read and write.
const nearKeys = 8

// nearChild reads and writes stamped values through a near cache, and says each
// read that was too old: one that began more than the bound after another value
// had been written. A value is the count of its key; who has written it says when
// that was done, by the clock that all processes of a machine have.
func nearChild(p *redistest.Parent) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{os.Getenv("NEAR_ADDR")}, DisableCache: true, ForceSingleClient: true,
		ConnWriteTimeout: time.Second,
	})
	if err != nil {
		p.Say("failed %v", err)
		return
	}
	defer client.Close()
	e, err := locking.New(context.Background(), client, core.Config{
		ClientID: owner.NewClient(), WatchdogTimeout: 6 * time.Second, Linger: time.Second,
	})
	if err != nil {
		p.Say("failed %v", err)
		return
	}
	defer locking.Close(context.Background(), e)
	opts, near := []rmap.MapOption{rmap.WithValueCodec(maptest.TextCodecOf[int64]())}, []Option{WithMaxSilence(nearSilence)}
	if os.Getenv("NEAR_MODE") != "tracked" {
		opts, near = append(opts, rmap.WithAnnounce()), append(near, WithAnnounced())
	}
	var m rmap.Mapping[string, int64] = rmap.New[string, int64](e, "m", opts...)
	if os.Getenv("NEAR_MODE") == "cache" {
		m = rmap.NewCache[string, int64](e, "m", append(maptest.As[rmap.CacheOption](opts), rmap.WithTTL(time.Second), rmap.WithMaxIdle(time.Second))...)
	}
	n := New(m, near...)
	defer n.Close()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { nearReads(p, n, stop) })
	}
	if os.Getenv("NEAR_WRITES") == "1" {
		all.Go(func() { nearWrites(p, n, stop) })
	}
	p.Say("ready")
	for {
		line, ok := p.Hear()
		if !ok || line == "stop" {
			break
		}
		p.Say("stats %d %d %d", n.Stats().Hits, n.Stats().Misses, n.Stats().WholeDrops)
	}
	close(stop)
	all.Wait()
	p.Say("bye")
}

func nearReads(p *redistest.Parent, n *Cache[string, int64], stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		k := strconv.Itoa(rand.IntN(nearKeys))
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		v, there, err := n.Get(ctx, k)
		cancel()
		if err == nil && there && i%16 == 0 {
			p.Say("read %s %d %d", k, v, began.UnixMicro())
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// nearWrites owns its keys, so that it knows what they are.
func nearWrites(p *redistest.Parent, n *Cache[string, int64], stop chan struct{}) {
	for v := int64(1); ; v++ {
		select {
		case <-stop:
			return
		default:
		}
		k := strconv.Itoa(int(v) % nearKeys)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		err := n.Put(ctx, k, v)
		if err == nil {
			p.Say("wrote %s %d %d", k, v, time.Now().UnixMicro())
			if got, there, err := n.Get(ctx, k); err == nil && there && got != v { // an entry of a cache may have ended
				p.Say("own %s %d %d", k, got, v)
			}
		} else {
			p.Say("lost %s %d", k, v)
		}
		cancel()
		time.Sleep(10 * time.Millisecond)
	}
}

// TestANearCacheNeverLiesAboutItsAge plays four processes behind proxies with
// faults, one of which writes, and one of which is stopped for a while: no read
// that begins more than the bound after a write has returned may miss it. The cache is an
// announced one, whose entries end.
func TestANearCacheNeverLiesAboutItsAge(t *testing.T) {
	for _, mode := range []string{"tracked", "announced", "cache"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			nearModel(t, mode)
		})
	}
}

func nearModel(t *testing.T, mode string) {
	server := redistest.Start(t)
	var proxies []*redistest.Proxy
	var children []*redistest.Child
	for i := range 4 {
		proxy := redistest.NewProxy(t, server.Addr())
		writes := "0"
		if i == 0 {
			writes = "1"
		}
		c := redistest.StartChild(t, "near", "NEAR_ADDR="+proxy.Addr(), "NEAR_MODE="+mode, "NEAR_WRITES="+writes)
		c.Await("ready")
		proxies, children = append(proxies, proxy), append(children, c)
	}
	var mu sync.Mutex
	var lines []string
	var reading sync.WaitGroup
	for i, c := range children {
		reading.Go(func() {
			for {
				line, ok := c.AwaitFor("", time.Minute)
				if !ok {
					return
				}
				mu.Lock()
				lines = append(lines, fmt.Sprint(i, " ", line))
				mu.Unlock()
				if line == "bye" || strings.HasPrefix(line, "failed") {
					return
				}
			}
		})
	}
	end := time.Now().Add(redistest.Span(t, 6*time.Second, time.Minute))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := 0; time.Now().Before(end); i++ {
		proxy, child := proxies[1+i%3], children[1+i%3]
		some := func(redistest.Conn) bool { return rng.IntN(2) == 0 }
		silent := time.Duration(300+rng.IntN(700)) * time.Millisecond
		switch rng.IntN(7) {
		case 0:
			proxy.CutAll()
		case 1:
			proxy.Delay(5*time.Millisecond, 20*time.Millisecond)
		case 2:
			proxy.BlackHoleConns(some)
			silent *= 3
		case 3:
			child.Stop()
			time.Sleep(redistest.Span(t, 1500*time.Millisecond, 10*time.Second))
			child.Cont()
		case 4:
			proxy.BlackHoleReplies(some)
			silent *= 3
		case 5:
			proxy.BlackHoleRequests(some)
			silent *= 3
		}
		time.Sleep(silent)
		proxy.Delay(0, 0)
		proxy.Restore()
	}
	for _, c := range children {
		c.Send("stats")
		c.Send("stop")
	}
	reading.Wait()
	judgeNear(t, lines)
}

// judgeNear looks for reads that are too old.
func judgeNear(t *testing.T, lines []string) {
	type written struct{ v, at int64 }
	writes, reads, hits := map[string][]written{}, 0, 0
	for _, line := range lines {
		w := strings.Fields(line)
		require.NotEqual(t, "own", w[1], "an own write was not seen: %s", line)
		require.NotEqual(t, "failed", w[1], line)
		if w[1] == "wrote" {
			writes[w[2]] = append(writes[w[2]], written{number64(w[3]), number64(w[4])})
		}
		if w[1] == "stats" {
			t.Log(line)
			hits += int(number64(w[2]))
		}
	}
	require.NotEmpty(t, writes)
	for _, line := range lines {
		w := strings.Fields(line)
		if w[1] != "read" {
			continue
		}
		reads++
		v, began := number64(w[3]), number64(w[4])
		for _, one := range writes[w[2]] {
			age := time.Duration(began-one.at) * time.Microsecond
			require.False(t, one.v > v && age > nearSilence, "%s: %d was written %v before", line, one.v, age)
		}
	}
	require.NotZero(t, reads)
	require.NotZero(t, hits)
}

func number64(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
