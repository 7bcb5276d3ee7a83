package reliable

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// doubling sends every second script twice, by chance, and returns either reply. Behind every
// tenth script it sends an earlier one once more.
type doubling struct {
	rueidis.Client
	*sendings
}

// sendings is what the clients of a process have sent, those of a cluster's nodes too.
type sendings struct {
	scripts, doubled, renewed, late atomic.Int64

	mu   sync.Mutex
	sent redistest.Late[[]string]
}

var isRenewal = redistest.MatchScript(extendScript.Body())

func (c doubling) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	words := slices.Clone(cmd.Commands())
	return c.twice(words, c.Client.Do(ctx, cmd))
}

func (c doubling) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	words := make([][]string, len(cmds))
	for i, cmd := range cmds {
		words[i] = slices.Clone(cmd.Commands())
	}
	got := c.Client.DoMulti(ctx, cmds...)
	for i := range got {
		got[i] = c.twice(words[i], got[i])
	}
	return got
}

// Nodes is a cluster's.
func (c doubling) Nodes() map[string]rueidis.Client {
	nodes := c.Client.Nodes()
	for addr, node := range nodes {
		nodes[addr] = doubling{node, c.sendings}
	}
	return nodes
}

func (c doubling) twice(words []string, got rueidis.RedisResult) rueidis.RedisResult {
	if !strings.HasPrefix(words[0], "EVAL") {
		return got
	}
	c.mu.Lock()
	c.sent.Add(words)
	c.mu.Unlock()
	if c.scripts.Add(1)%10 == 0 {
		c.late.Add(1)
		c.again(c.old())
	}
	renews := isRenewal(words) // of which there are few
	if renews || rand.N(2) == 0 {
		c.doubled.Add(1)
		if renews {
			c.renewed.Add(1)
		}
		if again := c.again(words); rand.N(2) == 0 {
			return again
		}
	}
	return got
}

func (c doubling) old() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent.Arrives(rand.New(rand.NewPCG(rand.Uint64(), 0)))
}

// again sends a script once more: its name or text, the number of keys, these, and the arguments.
func (c doubling) again(words []string) rueidis.RedisResult {
	n, err := strconv.Atoi(words[2])
	if err != nil {
		panic(err)
	}
	b := c.Client.B().Arbitrary(words[:3]...).Keys(words[3 : 3+n]...).Args(words[3+n:]...)
	return c.Client.Do(context.Background(), b.Build())
}

// deed is what became of a message.
type deed struct {
	came, nacked, acked int
}

// deeds are those of a test, by what was added.
type deeds struct {
	mu    sync.Mutex
	all   map[string]*deed
	group map[string][]string // what was acknowledged of it, in order
}

func newDeeds() *deeds { return &deeds{all: map[string]*deed{}, group: map[string][]string{}} }

func (b *deeds) of(v string, do func(d *deed)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all[v] == nil {
		b.all[v] = &deed{}
	}
	do(b.all[v])
}

func (b *deeds) acked() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.all {
		if d.acked > 0 {
			n++
		}
	}
	return n
}

// A handler keeps its first message for twiceHeld, in which twiceLease is renewed once. The
// rest of the lease is spare time for a machine that stands still.
const (
	twiceLease = 18 * time.Second
	twiceHeld  = 7 * time.Second
)

// handle acknowledges a message, or has it come again.
func (b *deeds) handle(m *Message[string]) error {
	b.of(m.Value, func(d *deed) { d.came++ })
	switch rand.N(40) {
	case 0, 1:
		b.of(m.Value, func(d *deed) { d.nacked++ })
		return m.Nack(context.Background(), errors.New("again"), WithDelay(rand.N(20*time.Millisecond)))
	case 2:
		b.of(m.Value, func(d *deed) { d.nacked++ })
		return m.Release(context.Background())
	}
	err := m.Ack(context.Background())
	if err == nil {
		b.of(m.Value, func(d *deed) { d.acked++ })
	}
	return err
}

// kindOf is the options of the message of that number.
func kindOf(i int) []AddOption {
	switch n := strconv.Itoa(i); i % 6 {
	case 1:
		return []AddOption{WithDelay(rand.N(300 * time.Millisecond))}
	case 2:
		return []AddOption{WithGroup("g" + strconv.Itoa(i%9))}
	case 3:
		return []AddOption{WithPriority(i % 5)}
	case 4:
		return []AddOption{WithUnique("u" + n), WithDedup("d"+n, time.Second), WithExpiry(time.Hour)}
	}
	return nil
}

// addKinds adds messages of all kinds, each by its number.
func addKinds(t *testing.T, r *rig, from, to int) {
	for i := from; i < to; i++ {
		if _, err := r.Add(context.Background(), strconv.Itoa(i), kindOf(i)...); err != nil {
			t.Errorf("add %d: %v", i, err)
		}
	}
}

// TestEveryScriptSentTwice, and late: each message is handled once, and nothing is left
// but the counters.
func TestEveryScriptSentTwice(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"7.0", "8.0", "valkey-8.1", "miniredis"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			raw := miniredisClient(t)
			n := redistest.Count(t, 96, 2000) // the embedded server is slow beside others, and a send has three seconds
			if version != "miniredis" {
				raw, n = redistest.Shared(t, redistest.Version(version)).Client(t), redistest.Count(t, 360, 20_000)
			}
			sentTwice(t, raw, n)
		})
	}
}

// sentTwice adds and handles n messages of all kinds by three clients.
func sentTwice(t *testing.T, raw rueidis.Client, n int) {
	clients := make([]doubling, 3)
	rigs := make([]*rig, 3)
	name := redistest.Name(t)
	for i := range rigs {
		clients[i] = doubling{raw, &sendings{}}
		rigs[i] = &rig{t: t, raw: raw, e: engineOn(t, clients[i])}
		rigs[i].Queue = New[string](rigs[i].e, name, WithMaxAttempts(1000), WithLease(twiceLease))
	}
	b := newDeeds()
	ctx, cancel := context.WithCancel(t.Context())
	var adders, takers sync.WaitGroup
	for i, r := range rigs {
		for j := range 4 {
			from := (i*4 + j) * n / 12
			adders.Go(func() { addKinds(t, r, from, from+n/12) })
			takers.Go(func() {
				held := twiceHeld // of the first message
				for m, err := range r.Consume(ctx) {
					came := time.Now()
					if err == nil {
						time.Sleep(held)
						held = 0
						err = b.handle(m)
					}
					if err != nil && ctx.Err() == nil {
						t.Errorf("after %v: %v", time.Since(came), err)
					}
				}
			})
		}
	}
	adders.Wait()
	n = n / 12 * 12
	redistest.Eventually(t, func() bool { return b.acked() == n }, 3*soon, 10*time.Millisecond)
	time.Sleep(50 * time.Millisecond)
	cancel()
	takers.Wait()
	require.Len(t, b.all, n)
	for v, d := range b.all {
		assert.Equal(t, 1, d.acked, v)
		assert.Equal(t, d.nacked+1, d.came, v)
	}
	rigs[0].leaves()
	require.EqualValues(t, n, rigs[0].counter("added"))
	require.EqualValues(t, n, rigs[0].counter("acked"))
	renewed := int64(0)
	for _, c := range clients {
		require.Positive(t, c.doubled.Load())
		require.Positive(t, c.late.Load())
		renewed += c.renewed.Load()
	}
	require.Positive(t, renewed)
}
