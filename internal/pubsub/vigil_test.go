package pubsub

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// alive is how often those with a vigil were told so since the last time, and
// whether they were told that something may be missing.
func (e *ear) alive() (n int, resumed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.events {
		switch ev.Kind {
		case Alive:
			n++
		case Resumed:
			resumed = true
		}
	}
	e.events = nil
	return n, resumed
}

func TestAVigilIsToldAgainSoonAfterEachConnection(t *testing.T) {
	for name, end := range map[string]func(c *fakeConn){
		"that ends":               func(c *fakeConn) { c.end(errEnded) },
		"that is replaced":        func(c *fakeConn) { c.server.fake.set(func() { c.replaced = true }) },
		"that nothing happens to": nil,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				const every = 100 * time.Millisecond
				e := &ear{}
				_, err := r.hub.Vigil(r.Context(), plain("x"), every, e.listen)
				require.NoError(t, err)
				r.pass(time.Millisecond)
				n, resumed := e.alive()
				require.Positive(t, n)
				require.False(t, resumed)
				for range 3 {
					r.pass(10 * every)
					n, _ = e.alive()
					require.InDelta(t, 10, n, 1)
					if end == nil {
						continue
					}
					var conns []*fakeConn
					r.set(func() {
						for c := range r.a.conns {
							conns = append(conns, c)
						}
					})
					for _, c := range conns {
						end(c)
					}
					r.pass(5 * every)
					n, resumed = e.alive()
					require.True(t, resumed)
					require.GreaterOrEqual(t, n, 2)
				}
			})
		})
	}
}

// TestAServerThatDoesNotSayWhetherTheConnectionIsTheSame is not vouched for, and not left either: others hear by it.
func TestAServerThatDoesNotSayWhetherTheConnectionIsTheSame(t *testing.T) {
	bubble(t, func(r *rig) {
		const every = 100 * time.Millisecond
		vigilant := &ear{}
		_, err := r.hub.Vigil(r.Context(), plain("x"), every, vigilant.listen)
		require.NoError(t, err)
		other, _ := r.join(plain("y"))
		r.pass(time.Second)
		vigilant.alive()
		r.takeLog()
		r.set(func() { r.a.tells = fmt.Errorf("%w: no disk", errUntold) })
		r.pass(time.Minute)
		n, resumed := vigilant.alive()
		require.Zero(t, n)
		require.False(t, resumed)
		require.Empty(t, other.take())
		log := r.takeLog()
		require.NotContains(t, log, "a CONNECT")
		for _, again := range []string{"a SUBSCRIBE x", "a SUBSCRIBE y"} {
			require.NotContains(t, log, again, "by which another connection would be taken for this one")
		}
		r.set(func() { r.a.tells = nil })
		r.pass(10 * every)
		n, resumed = vigilant.alive()
		require.Positive(t, n)
		require.False(t, resumed, "nothing was missing")

		r.set(func() { r.a.tells = fmt.Errorf("%w: no disk", errUntold) })
		r.pass(time.Second)
		r.set(func() { r.a.silent = true })
		r.pass(time.Minute)
		r.set(func() { r.a.silent = false })
		r.pass(time.Minute)
		require.Equal(t, []string{"Resumed"}, other.take(), "one that is silent is left")
	})
}

func TestACountThatIsAnother(t *testing.T) {
	t.Parallel()
	c := count{has: map[string]bool{}}
	for _, s := range []rueidis.PubSubSubscription{
		{Kind: "unsubscribe", Channel: probeChannel}, {Kind: "subscribe", Channel: "a", Count: 1}, {Kind: "psubscribe", Channel: "a", Count: 2},
		{Kind: "subscribe", Channel: "a", Count: 2}, {Kind: "unsubscribe", Channel: probeChannel, Count: 2}, {Kind: "punsubscribe", Channel: "a", Count: 1},
	} {
		c.heard(s)
		require.NoError(t, c.err())
	}
	c.heard(rueidis.PubSubSubscription{Kind: "subscribe", Channel: "b", Count: 1}) // the first of another one
	require.ErrorIs(t, c.err(), errReplaced)
	c.heard(rueidis.PubSubSubscription{Kind: "subscribe", Channel: "c", Count: 3})
	require.ErrorIs(t, c.err(), errReplaced)
}

func TestANameBesideAnother(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"{m}:topic": "{m}:topic:" + probeChannel, "a{b}c": "a{b}c:" + probeChannel, "m": "{m}:" + probeChannel, "a}b": "", "": "", "{}": "", "a{b": "{a{b}:" + probeChannel,
	} {
		got, ok := beside(name)
		require.Equal(t, want != "", ok, name)
		if ok {
			require.Equal(t, want, got)
		}
	}
}

// TestAVigilThatBeginsIsToldAlone: the others were told not long ago. Each that begins would else cost as much as there
// are.
func TestAVigilThatBeginsIsToldAlone(t *testing.T) {
	bubble(t, func(r *rig) {
		first := &ear{}
		_, err := r.hub.Vigil(r.Context(), plain("first"), time.Second, first.listen)
		require.NoError(t, err)
		synctest.Wait()
		n, _ := first.alive()
		require.Positive(t, n)
		for i := range 100 {
			begins := &ear{}
			of := plain(fmt.Sprint(i / 2)) // every other one stands already
			_, err := r.hub.Vigil(r.Context(), of, time.Second, begins.listen)
			require.NoError(t, err)
			synctest.Wait()
			n, _ := begins.alive()
			require.Positive(t, n, "it is told at once")
		}
		n, _ = first.alive()
		require.Zero(t, n)
		r.pass(time.Second)
		n, _ = first.alive()
		require.Equal(t, 1, n)
		short := &ear{}
		_, err = r.hub.Vigil(r.Context(), plain("first"), 100*time.Millisecond, short.listen)
		require.NoError(t, err)
		r.pass(time.Second)
		n, _ = short.alive()
		require.InDelta(t, 10, n, 1, "the shortest of all is what counts, at once")
	})
}

// TestVigilBeatIsThatOfTheListenersThatAreThere: one that asked often, and has left, has
// the server asked often no more.
func TestVigilBeatIsThatOfTheListenersThatAreThere(t *testing.T) {
	bubble(t, func(r *rig) {
		calm, hasty := &ear{}, &ear{}
		_, err := r.hub.Vigil(r.Context(), plain("x"), time.Second, calm.listen)
		require.NoError(t, err)
		s, err := r.hub.Vigil(r.Context(), plain("y"), 50*time.Millisecond, hasty.listen)
		require.NoError(t, err)
		r.pass(2 * time.Second)
		n, _ := calm.alive()
		require.Greater(t, n, 10)
		s.Close()
		s.Close()
		r.pass(2 * time.Second)
		calm.alive()
		r.pass(10 * time.Second)
		n, _ = calm.alive()
		require.InDelta(t, 10, n, 1)
	})
}
