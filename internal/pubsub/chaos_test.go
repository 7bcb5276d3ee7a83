package pubsub

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhateverHappensWhatIsWantedStands plays random joins, leaves, cancels, kills, migrations and failovers
// against slow servers. When the dust settles, exactly what is wanted stands, and everybody is told.
func TestWhateverHappensWhatIsWantedStands(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			bubble(t, func(r *rig) { newChaos(r, seed).run() })
		})
	}
}

type chaos struct {
	*rig
	rng  *rand.Rand
	wg   sync.WaitGroup
	mu   sync.Mutex
	held map[*Subscription]*ear
}

var chaosChannels = []Channel{plain("u"), {Sharded, "u"}, plain("w"), {Pattern, "x"}}

func newChaos(r *rig, seed uint64) *chaos {
	c := &chaos{rig: r, rng: rand.New(rand.NewPCG(seed, 7)), held: map[*Subscription]*ear{}}
	for _, s := range []*fakeServer{r.a, r.b} {
		s.lag = time.Duration(c.rng.IntN(4)) * time.Millisecond
		s.answer = time.Duration(c.rng.IntN(4)) * time.Millisecond
	}
	r.hub.opts.Linger = time.Duration(1+c.rng.IntN(20)) * time.Millisecond
	r.hub.opts.Check = time.Duration(20+c.rng.IntN(50)) * time.Millisecond
	return c
}

func (c *chaos) run() {
	for range 400 {
		c.step()
		c.pass(time.Duration(c.rng.IntN(3)) * time.Millisecond)
	}
	c.wg.Wait()
	c.pass(5 * time.Second)
	c.verify()
	for s := range c.held {
		s.Close()
	}
	c.pass(5 * time.Second)
	require.Equal(c, [2]int{}, c.state())
	require.Empty(c, c.a.all())
	require.Empty(c, c.b.all())
}

func (c *chaos) step() {
	channel := chaosChannels[c.rng.IntN(len(chaosChannels))]
	server := []*fakeServer{c.a, c.b}[c.rng.IntN(2)]
	switch c.rng.IntN(20) {
	case 0:
		server.kill()
	case 1:
		server.expel(channel)
	case 2:
		c.set(func() { c.home[channel] = server.addr })
	case 3:
		c.migrate(channel, server)
	case 4, 5, 6, 7, 8, 9, 10, 11:
		c.leave()
	default:
		c.enter(channel, time.Duration(c.rng.IntN(30))*time.Millisecond)
	}
}

// migrate makes one server the owner, which the other one says and Locate does not know yet.
func (c *chaos) migrate(channel Channel, to *fakeServer) {
	from := c.a
	if to == c.a {
		from = c.b
	}
	c.set(func() {
		delete(to.moved, channel)
		from.moved[channel] = to.addr
	})
	from.expel(channel)
}

func hello(channel Channel) string { return fmt.Sprint("hello ", channel) }

func (c *chaos) enter(channel Channel, patience time.Duration) {
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.Context(), patience)
		defer cancel()
		e := &ear{}
		s, err := c.hub.Subscribe(ctx, channel, e.listen)
		if err != nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held[s] = e
	})
}

func (c *chaos) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.held {
		s.Close()
		delete(c.held, s)
		return
	}
}

func (c *chaos) verify() {
	wanted := map[Channel]bool{}
	for s, e := range c.held {
		wanted[s.channel.Channel] = true
		e.take()
	}
	for _, channel := range chaosChannels {
		standing := c.a.subscribers(channel) + c.b.subscribers(channel)
		if !wanted[channel] {
			require.Zero(c, standing, channel)
			require.False(c, c.hub.Subscribed(channel))
			continue
		}
		require.Equal(c, 1, standing, channel)
		require.True(c, c.hub.Subscribed(channel))
		c.a.publish(channel, hello(channel))
		c.b.publish(channel, hello(channel))
	}
	for s, e := range c.held {
		require.Equal(c, []string{hello(s.channel.Channel)}, e.take())
	}
}
