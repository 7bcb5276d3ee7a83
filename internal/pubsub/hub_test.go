package pubsub

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// ear is a listener that remembers.
type ear struct {
	mu     sync.Mutex
	events []Event
}

func (e *ear) listen(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, ev)
}

func plain(name string) Channel { return Channel{Name: name} }

// take returns what was heard since the last time, "Resumed" for a resumption.
func (e *ear) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var heard []string
	for _, ev := range e.events {
		if ev.Kind == Resumed {
			ev.Payload = "Resumed"
		}
		heard = append(heard, ev.Payload)
	}
	e.events = nil
	return heard
}

// rig is a hub over a fake, inside a bubble.
type rig struct {
	*testing.T
	*fake
	hub *Hub
	a   *fakeServer
	b   *fakeServer
}

// bubble runs the test with a clock of its own. The bubble itself fails if a goroutine outlives Close.
func bubble(t *testing.T, test func(r *rig)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := &rig{T: t, fake: f, hub: New(f, Options{}), a: f.server("a"), b: f.server("b")}
		defer r.hub.Close()
		test(r)
	})
}

func (r *rig) join(channel Channel) (*ear, *Subscription) {
	r.Helper()
	e := &ear{}
	s, err := r.hub.Subscribe(r.Context(), channel, e.listen)
	require.NoError(r, err)
	return e, s
}

// joining subscribes in the background.
func (r *rig) joining(ctx context.Context, channel Channel) (*ear, <-chan error) {
	e, done := &ear{}, make(chan error, 1)
	go func() {
		_, err := r.hub.Subscribe(ctx, channel, e.listen)
		done <- err
	}()
	synctest.Wait()
	return e, done
}

func (r *rig) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// state is what the hub holds: channels, nodes.
func (r *rig) state() [2]int {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	return [2]int{len(r.hub.channels), len(r.hub.nodes)}
}

// located is how often somebody asked where channels belong.
func (r *rig) located() (n int) {
	r.set(func() { n = r.locates })
	return n
}

func (r *rig) count(entry string) (n int) {
	for _, e := range r.takeLog() {
		if e == entry {
			n++
		}
	}
	return n
}

func TestSubscribeReturnsOnceConfirmedAndHearsMessages(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.lag, r.a.answer = 3*time.Millisecond, 4*time.Millisecond
		start := time.Now()
		e, _ := r.join(plain("x"))
		require.Equal(r, 10*time.Millisecond, time.Since(start)) // connect, effect, answer
		require.Equal(r, 1, r.a.subscribers(plain("x")))
		require.True(r, r.hub.Subscribed(plain("x")))
		r.a.publish(plain("x"), "0")
		require.Equal(r, []string{"0"}, e.take())
		require.Equal(r, []string{"a CONNECT", "a SUBSCRIBE x"}, r.takeLog())
	})
}

func TestHundredsOfSubscribersShareOneSubscribe(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.lag = 5 * time.Millisecond
		var ears [300]ear
		var wg sync.WaitGroup
		for i := range ears {
			wg.Go(func() {
				_, err := r.hub.Subscribe(r.Context(), plain("x"), ears[i].listen)
				assert.NoError(r, err)
			})
		}
		wg.Wait()
		require.Equal(r, []string{"a CONNECT", "a SUBSCRIBE x"}, r.takeLog())
		r.a.publish(plain("x"), "0")
		for i := range ears {
			require.Equal(r, []string{"0"}, ears[i].take())
		}
	})
}

func TestSubscribeToAStandingChannelAsksNobody(t *testing.T) {
	bubble(t, func(r *rig) {
		r.join(plain("x"))
		r.takeLog()
		locates := r.locates
		start := time.Now()
		e, _ := r.join(plain("x"))
		require.Zero(r, time.Since(start))
		require.Empty(r, r.takeLog())
		require.Equal(r, locates, r.locates)
		r.a.publish(plain("x"), "0")
		require.Equal(r, []string{"0"}, e.take())
	})
}

func TestChannelLingersThenIsUnsubscribedAndConnectionGivenBack(t *testing.T) {
	bubble(t, func(r *rig) {
		_, s := r.join(plain("x"))
		r.takeLog()
		s.Close()
		s.Close()
		r.pass(999 * time.Millisecond)
		require.Empty(r, r.takeLog())
		require.True(r, r.hub.Subscribed(plain("x")))
		r.pass(time.Millisecond)
		require.Equal(r, []string{"a UNSUBSCRIBE x", "a RELEASE"}, r.takeLog())
		require.False(r, r.hub.Subscribed(plain("x")))
		require.Equal(r, [2]int{}, r.state())
		r.join(plain("x"))
		require.Equal(r, []string{"a CONNECT", "a SUBSCRIBE x"}, r.takeLog())
	})
}

func TestLingerThatIsInterruptedSendsNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		_, s := r.join(plain("x"))
		r.takeLog()
		for range 8 {
			s.Close()
			r.pass(900 * time.Millisecond)
			_, s = r.join(plain("x"))
		}
		s.Close()
		r.pass(999 * time.Millisecond) // counts from the last leave
		require.Empty(r, r.takeLog())
		r.pass(time.Millisecond)
		require.Equal(r, []string{"a UNSUBSCRIBE x", "a RELEASE"}, r.takeLog())
	})
}

func TestMessagesThatNobodyHearsEndTheLinger(t *testing.T) {
	bubble(t, func(r *rig) {
		publish := func(n int) {
			for range n {
				r.a.publish(plain("x"), "0")
			}
			synctest.Wait()
		}
		heard, s := r.join(plain("x"))
		publish(10 * mostUnheard)
		require.Len(r, heard.take(), 10*mostUnheard, "somebody listens")
		r.takeLog()
		s.Close()
		publish(mostUnheard - 1)
		_, s = r.join(plain("x")) // in time
		publish(mostUnheard)
		s.Close()
		publish(mostUnheard - 1)
		require.Empty(r, r.takeLog(), "they are counted from the last leave")
		publish(1)
		require.Equal(r, []string{"a UNSUBSCRIBE x", "a RELEASE"}, r.takeLog())
		require.False(r, r.hub.Subscribed(plain("x")))
		require.Equal(r, [2]int{}, r.state())
		publish(mostUnheard)
		_, s = r.join(plain("x"))
		require.Equal(r, []string{"a CONNECT", "a SUBSCRIBE x"}, r.takeLog())
		s.Close()
		r.pass(time.Second)
		require.Equal(r, []string{"a UNSUBSCRIBE x", "a RELEASE"}, r.takeLog())
	})
}

func TestLingerIsCountedPerChannel(t *testing.T) {
	bubble(t, func(r *rig) {
		_, x := r.join(plain("x"))
		_, y := r.join(plain("y"))
		_, z := r.join(plain("z"))
		r.takeLog()
		x.Close()
		r.pass(100 * time.Millisecond)
		y.Close()
		r.pass(100 * time.Millisecond)
		_, x = r.join(plain("x"))
		x.Close() // now behind y
		r.pass(900 * time.Millisecond)
		require.Equal(r, []string{"a UNSUBSCRIBE y"}, r.takeLog())
		r.pass(100 * time.Millisecond)
		require.Equal(r, []string{"a UNSUBSCRIBE x"}, r.takeLog())
		z.Close()
		r.pass(time.Second)
		require.Equal(r, []string{"a UNSUBSCRIBE z", "a RELEASE"}, r.takeLog())
	})
}

func TestEachKindOfAChannelIsItsOwn(t *testing.T) {
	bubble(t, func(r *rig) {
		shard, match := Channel{Sharded, "x"}, Channel{Pattern, "x"}
		x, _ := r.join(plain("x"))
		s, sub := r.join(shard)
		p, _ := r.join(match)
		require.Equal(r, []string{"a CONNECT", "a SUBSCRIBE x", "a SCONNECT", "a SSUBSCRIBE x", "a PSUBSCRIBE x"}, r.takeLog())
		require.Equal(r, [2]int{3, 2}, r.state())
		r.a.publish(shard, "0")
		require.Equal(r, []string{"0"}, s.take())
		r.a.publish(match, "1")
		require.Equal(r, []string{"1"}, p.take())
		require.Empty(r, x.take())
		sub.Close()
		r.pass(2 * time.Second)
		require.Equal(r, []string{"a SUNSUBSCRIBE x", "a SRELEASE"}, r.takeLog())
		require.False(r, r.hub.Subscribed(shard))
		require.True(r, r.hub.Subscribed(plain("x")))
		r.a.expel(match)
		synctest.Wait()
		require.Equal(r, []string{"a PSUBSCRIBE x"}, r.takeLog())
		require.Equal(r, []string{"Resumed"}, p.take())
		require.Empty(r, x.take())
	})
}

func TestTheChannelsOfALineAreLocatedTogether(t *testing.T) {
	bubble(t, func(r *rig) {
		for i := range 100 {
			r.join(plain(fmt.Sprint("c", i)))
		}
		before := r.located()
		r.pass(10 * time.Second)
		require.Equal(r, before+1, r.located())
	})
}

func TestNegativeLingerUnsubscribesAtOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		r.hub.opts.Linger = -1
		_, s := r.join(plain("x"))
		r.takeLog()
		s.Close()
		synctest.Wait()
		require.Equal(r, []string{"a UNSUBSCRIBE x", "a RELEASE"}, r.takeLog())
	})
}

func TestSubscribeDuringUnsubscribeEndsSubscribed(t *testing.T) {
	for name, at := range map[string]time.Duration{
		"before the server has seen it":       2 * time.Millisecond,
		"after the report, before the answer": 7 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.a.lag, r.a.answer = 5*time.Millisecond, 5*time.Millisecond
				r.hub.opts.Linger = 100 * time.Millisecond
				_, s := r.join(plain("x"))
				s.Close()
				r.takeLog()
				r.pass(100*time.Millisecond + at)
				require.Equal(r, []string{"a UNSUBSCRIBE x"}, r.takeLog())
				require.False(r, r.hub.Subscribed(plain("x")))
				start := time.Now()
				e, s := r.join(plain("x"))
				require.Equal(r, 20*time.Millisecond-at, time.Since(start), "as soon as the answers are in")
				require.Equal(r, []string{"a SUBSCRIBE x"}, r.takeLog())
				require.Equal(r, 1, r.a.subscribers(plain("x")))
				r.a.publish(plain("x"), "0")
				require.Equal(r, []string{"0"}, e.take(), "and nobody takes the old report for the server's doing")
				s.Close()
				r.pass(2 * time.Second)
				require.Equal(r, []string{"a UNSUBSCRIBE x", "a RELEASE"}, r.takeLog())
			})
		})
	}
}

func TestJoinAndLeaveDuringUnsubscribeLeavesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.lag = 5 * time.Millisecond
		_, s := r.join(plain("x"))
		s.Close()
		r.takeLog()
		r.pass(time.Second + time.Millisecond)
		ctx, cancel := context.WithCancel(r.Context())
		_, done := r.joining(ctx, plain("x"))
		cancel()
		require.ErrorIs(r, <-done, context.Canceled)
		r.pass(3 * time.Second)
		require.Equal(r, []string{"a UNSUBSCRIBE x", "a RELEASE"}, r.takeLog())
		require.Equal(r, [2]int{}, r.state())
	})
}

func TestServerSentUnsubscribeIsAnsweredBySubscribing(t *testing.T) {
	bubble(t, func(r *rig) {
		x, _ := r.join(plain("x"))
		y, _ := r.join(plain("y"))
		r.pass(2 * time.Second)
		r.takeLog()
		r.a.expel(plain("x"))
		require.False(r, r.hub.Subscribed(plain("x")))
		synctest.Wait()
		require.Equal(r, []string{"a SUBSCRIBE x"}, r.takeLog())
		require.Equal(r, []string{"Resumed"}, x.take())
		require.Empty(r, y.take())
		require.True(r, r.hub.Subscribed(plain("x")))
	})
}

func TestServerSentUnsubscribeThatKeepsComingDoesNotSpin(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.expels = true
		e, done := r.joining(r.Context(), plain("x"))
		r.pass(10 * time.Second)
		require.Less(r, r.count("a SUBSCRIBE x"), 40)
		require.Empty(r, done)
		r.set(func() { r.a.expels = false })
		require.NoError(r, <-done)
		require.Empty(r, e.take())
		require.Equal(r, 1, r.a.subscribers(plain("x")))
	})
}

func TestServerSentUnsubscribeOfALingeringChannelEndsIt(t *testing.T) {
	bubble(t, func(r *rig) {
		_, s := r.join(plain("x"))
		s.Close()
		r.takeLog()
		r.a.expel(plain("x"))
		synctest.Wait()
		require.Equal(r, []string{"a RELEASE"}, r.takeLog())
		require.Equal(r, [2]int{}, r.state())
	})
}

func TestServerSentUnsubscribeDuringOurOwnIsOurs(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.lag = 5 * time.Millisecond
		_, s := r.join(plain("x"))
		s.Close()
		r.takeLog()
		r.pass(time.Second + time.Millisecond)
		r.a.expel(plain("x")) // the server's overtakes the report of ours: two reports, one subscription
		e, s := r.join(plain("x"))
		require.Equal(r, []string{"a UNSUBSCRIBE x", "a SUBSCRIBE x"}, r.takeLog())
		r.a.publish(plain("x"), "0")
		require.Equal(r, []string{"0"}, e.take())
		s.Close()
		r.pass(2 * time.Second)
		require.Equal(r, []string{"a UNSUBSCRIBE x", "a RELEASE"}, r.takeLog())
	})
}

func TestServerSentUnsubscribeDuringAProbeIsNoticed(t *testing.T) {
	for name, leave := range map[string]bool{"with a listener": false, "with none left": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				e, s := r.join(plain("x"))
				r.set(func() { r.a.lag = 5 * time.Millisecond })
				r.pass(10*time.Second + time.Millisecond)
				r.takeLog()
				r.a.expel(plain("x")) // before the server has seen the probe, which then subscribes
				if leave {
					r.hub.mu.Lock()
					r.hub.opts.Linger = -1
					r.hub.mu.Unlock()
					s.Close()
				}
				r.pass(time.Second)
				if leave {
					require.Equal(r, []string{"a UNSUBSCRIBE x", "a RELEASE"}, r.takeLog())
					return
				}
				require.Equal(r, []string{"a SUBSCRIBE x"}, r.takeLog())
				require.Equal(r, []string{"Resumed"}, e.take())
			})
		})
	}
}

func TestReconnectResumesEveryListener(t *testing.T) {
	bubble(t, func(r *rig) {
		ears := map[string]*ear{}
		for i := range 1000 {
			name := fmt.Sprint("c", i)
			ears[name], _ = r.join(plain(name))
		}
		r.pass(2 * time.Second)
		r.takeLog()
		calls := r.calls
		r.a.kill()
		r.pass(100 * time.Millisecond)
		require.Equal(r, calls+1, r.calls, "all of them in one exchange")
		log := r.takeLog()
		require.Equal(r, []string{"a CLOSE", "a CONNECT"}, sorted(log[:2]))
		require.Len(r, log, 2+1000)
		for name, e := range ears {
			require.Equal(r, []string{"Resumed"}, e.take())
			require.Equal(r, 1, r.a.subscribers(plain(name)))
		}
	})
}

func TestWhatAnOldConnectionSaysIsNotHeard(t *testing.T) {
	bubble(t, func(r *rig) {
		e, _ := r.join(plain("x"))
		old := r.a.all()[0]
		r.a.kill()
		r.pass(time.Second)
		require.Equal(r, []string{"Resumed"}, e.take())
		r.takeLog()
		old.handler.Unsubscribed(plain("x"))
		require.True(r, r.hub.Subscribed(plain("x")))
		r.pass(time.Second)
		require.Empty(r, r.takeLog())
	})
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func TestReconnectForgetsLingeringChannels(t *testing.T) {
	bubble(t, func(r *rig) {
		_, s := r.join(plain("x"))
		s.Close()
		r.takeLog()
		r.a.kill()
		r.pass(time.Minute)
		require.Equal(r, []string{"a CLOSE"}, r.takeLog())
		require.Equal(r, [2]int{}, r.state())
	})
}

func TestDeadServerIsRetriedWithBackoffUntilItIsBack(t *testing.T) {
	bubble(t, func(r *rig) {
		e, _ := r.join(plain("x"))
		r.set(func() { r.a.down = errEnded })
		r.a.kill()
		r.takeLog()
		r.pass(time.Minute)
		attempts := r.count("a CONNECT")
		require.Greater(r, attempts, 50, "a pause is a second at most")
		require.Less(r, attempts, 140, "and half of one at least, once it has grown")
		require.Empty(r, e.take())
		r.set(func() { r.a.down = nil })
		r.pass(time.Second)
		require.Equal(r, []string{"Resumed"}, e.take())
		r.a.publish(plain("x"), "0")
		require.Equal(r, []string{"0"}, e.take())
	})
}

func TestRetriesEndWithTheLastListener(t *testing.T) {
	bubble(t, func(r *rig) {
		_, s := r.join(plain("x"))
		r.set(func() { r.a.down = errEnded })
		r.a.kill()
		r.pass(10 * time.Second)
		s.Close()
		synctest.Wait()
		r.takeLog()
		require.Equal(r, [2]int{}, r.state())
		r.pass(time.Minute)
		require.Empty(r, r.takeLog())
	})
}

func TestConnectionsThatDieYoungAreNotReplacedInALoop(t *testing.T) {
	bubble(t, func(r *rig) {
		e, _ := r.join(plain("x"))
		r.set(func() { r.a.hostile = true })
		r.a.kill()
		r.takeLog()
		r.pass(time.Minute)
		require.Less(r, r.count("a CONNECT"), 140)
		r.set(func() { r.a.hostile = false })
		r.pass(time.Second)
		require.Equal(r, []string{"Resumed"}, e.take())
	})
}

func TestSubscribeOutlivesAConnectionThatEndsUnderIt(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.lag = 5 * time.Millisecond
		e, done := r.joining(r.Context(), plain("x"))
		r.pass(7 * time.Millisecond)
		r.a.kill()
		require.NoError(r, <-done)
		require.Equal(r, 2, r.count("a CONNECT"))
		require.Empty(r, e.take(), "nothing was interrupted")
	})
}

func TestSubscribeGivesUpWhenConnectionsKeepEnding(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.hostile = true
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {})
		require.ErrorIs(r, err, errEnded)
		require.Equal(r, maxLosses, r.count("a CONNECT"))
		synctest.Wait()
		require.Equal(r, [2]int{}, r.state())
	})
}

func TestSubscribeFailsWhenTheNodeCannotBeReached(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.down = errEnded
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {})
		require.ErrorIs(r, err, errEnded)
		require.ErrorContains(r, err, `"x"`)
		synctest.Wait()
		require.Equal(r, [2]int{}, r.state())
	})
}

func TestSubscribeFailsWhenTheChannelCannotBeLocated(t *testing.T) {
	bubble(t, func(r *rig) {
		r.lost = errEnded
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {})
		require.ErrorIs(r, err, errEnded)
		require.Empty(r, r.takeLog())
		require.Equal(r, [2]int{}, r.state())
	})
}

func TestRefusalFailsThoseWhoWaitAndNobodyElse(t *testing.T) {
	bubble(t, func(r *rig) {
		denied := errors.New("NOPERM")
		r.a.refuse[plain("x")] = denied
		y, _ := r.join(plain("y"))
		r.takeLog()
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {})
		require.ErrorIs(r, err, denied)
		r.pass(5 * time.Second)
		require.Equal(r, []string{"a SUBSCRIBE x"}, r.takeLog())
		require.Equal(r, [2]int{1, 1}, r.state())
		r.a.publish(plain("y"), "0")
		require.Equal(r, []string{"0"}, y.take())
	})
}

func TestRefusalOfWhatStoodBeforeIsRetriedWithBackoff(t *testing.T) {
	bubble(t, func(r *rig) {
		denied := errors.New("NOPERM")
		x, _ := r.join(plain("x"))
		y, _ := r.join(plain("y"))
		r.set(func() { r.a.refuse[plain("x")] = denied })
		r.a.kill()
		r.takeLog()
		r.pass(time.Minute)
		require.Equal(r, []string{"Resumed"}, y.take())
		require.Empty(r, x.take())
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {})
		require.ErrorIs(r, err, denied, "a newcomer gets the outcome of the next retry")
		tries := r.count("a SUBSCRIBE x")
		require.Greater(r, tries, 50)
		require.Less(r, tries, 140)
		r.set(func() { delete(r.a.refuse, plain("x")) })
		r.pass(time.Second)
		require.Equal(r, []string{"Resumed"}, x.take())
	})
}

func TestMovedIsFollowedAndTheOldConnectionGivenBack(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.moved[plain("x")] = "b"
		e, _ := r.join(plain("x"))
		synctest.Wait()
		require.Equal(r, []string{"a CONNECT", "a RELEASE", "a SUBSCRIBE x", "b CONNECT", "b SUBSCRIBE x"}, sorted(r.takeLog()))
		r.b.publish(plain("x"), "0")
		require.Equal(r, []string{"0"}, e.take())
		r.pass(time.Minute) // Locate still says a: the node itself knows better
		require.Empty(r, e.take())
		require.NotContains(r, r.takeLog(), "a CONNECT")
	})
}

func TestSlotMigrationIsFollowed(t *testing.T) {
	bubble(t, func(r *rig) {
		e, _ := r.join(plain("x"))
		r.pass(2 * time.Second)
		r.takeLog()
		r.set(func() { r.a.moved[plain("x")] = "b" })
		r.a.expel(plain("x"))
		synctest.Wait()
		require.Equal(r, []string{"a RELEASE", "a SUBSCRIBE x", "b CONNECT", "b SUBSCRIBE x"}, sorted(r.takeLog()))
		require.Equal(r, []string{"Resumed"}, e.take())
	})
}

func TestMovedInCirclesIsARefusal(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.moved[plain("x")], r.b.moved[plain("x")] = "b", "a"
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {})
		require.ErrorAs(r, err, new(*MovedError))
		require.Equal(r, maxHops+1, strings.Count(strings.Join(r.takeLog(), "\n"), "SUBSCRIBE"))
		synctest.Wait()
		require.Equal(r, [2]int{}, r.state())
	})
}

func TestMovedToItselfIsARefusal(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.moved[plain("x")] = "a"
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {})
		require.ErrorAs(r, err, new(*MovedError))
	})
}

func TestCheckMovesChannelsOffADemotedMaster(t *testing.T) {
	bubble(t, func(r *rig) {
		e, _ := r.join(plain("x"))
		r.takeLog()
		r.set(func() { r.home[plain("x")] = "b" })
		r.pass(10 * time.Second)
		require.Equal(r, []string{"Resumed"}, e.take())
		require.Equal(r, []string{"a RELEASE", "a UNSUBSCRIBE x", "b CONNECT", "b SUBSCRIBE x"}, sorted(r.takeLog()))
		require.Equal(r, 1, r.b.subscribers(plain("x")))
	})
}

func TestReconnectGoesWhereTheChannelIsNow(t *testing.T) {
	bubble(t, func(r *rig) {
		e, _ := r.join(plain("x"))
		_, pending := r.joining(r.Context(), plain("y"))
		require.NoError(r, <-pending)
		r.set(func() { r.a.down, r.home[plain("x")] = errEnded, "b" })
		r.a.kill()
		r.pass(time.Second)
		require.Equal(r, []string{"Resumed"}, e.take())
		require.Equal(r, 1, r.b.subscribers(plain("x")))
	})
}

func TestChannelThatMovesBackBeforeItWasGivenUp(t *testing.T) {
	bubble(t, func(r *rig) {
		e, _ := r.join(plain("x"))
		_, s := r.join(plain("slow"))
		r.set(func() { r.home[plain("x")], r.b.moved[plain("x")] = "b", "a" })
		r.set(func() { r.a.lag = 20 * time.Millisecond }) // keeps a's worker busy with the probe
		r.pass(10*time.Second + time.Millisecond)
		require.Equal(r, 1, r.a.subscribers(plain("x")))
		require.Equal(r, []string{"Resumed"}, e.take())
		require.True(r, r.hub.Subscribed(plain("x")))
		r.a.publish(plain("x"), "0")
		require.Equal(r, []string{"0"}, e.take())
		s.Close()
	})
}

func TestNewChannelFindsASeatThatStillStands(t *testing.T) {
	bubble(t, func(r *rig) {
		_, x := r.join(plain("x"))
		r.join(plain("other"))
		r.set(func() { r.home[plain("x")], r.b.down = "b", errEnded })
		r.set(func() { r.a.lag = 50 * time.Millisecond })
		r.pass(10*time.Second + time.Millisecond) // x has left for b, which is down; a's worker probes
		x.Close()
		synctest.Wait()
		r.set(func() { r.home[plain("x")] = "a" })
		start := time.Now()
		e, _ := r.join(plain("x"))
		require.Zero(r, time.Since(start))
		r.a.publish(plain("x"), "0")
		require.Equal(r, []string{"0"}, e.take())
		r.pass(5 * time.Second)
		require.Equal(r, 1, r.a.subscribers(plain("x")))
	})
}

func TestSilentServerIsFoundByTheProbeAndReplaced(t *testing.T) {
	bubble(t, func(r *rig) {
		e, _ := r.join(plain("x"))
		r.takeLog()
		r.set(func() { r.a.silent = true })
		r.pass(10 * time.Second)
		require.Equal(r, []string{"a SUBSCRIBE x"}, r.takeLog())
		r.set(func() { r.a.silent = false })
		r.pass(6 * time.Second)
		require.Equal(r, []string{"a CLOSE", "a CONNECT", "a SUBSCRIBE x"}, sorted(r.takeLog()))
		require.Equal(r, []string{"Resumed"}, e.take())
	})
}

func TestProbeOfALivingServerChangesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		e, _ := r.join(plain("x"))
		r.takeLog()
		r.pass(35 * time.Second)
		require.Equal(r, []string{"a SUBSCRIBE x", "a SUBSCRIBE x", "a SUBSCRIBE x"}, r.takeLog())
		require.Empty(r, e.take())
	})
}

func TestSilentNodeDelaysNoOther(t *testing.T) {
	bubble(t, func(r *rig) {
		r.home[plain("y")], r.a.hangs = "b", true
		_, stuck := r.joining(r.Context(), plain("x"))
		start := time.Now()
		e, _ := r.join(plain("y"))
		require.Zero(r, time.Since(start))
		r.b.publish(plain("y"), "0")
		require.Equal(r, []string{"0"}, e.take())
		require.ErrorIs(r, <-stuck, context.DeadlineExceeded)
	})
}

func TestCancelledSubscribeLeavesNothingBeyondTheLinger(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.lag = 5 * time.Millisecond
		cause := errors.New("had enough")
		ctx, cancel := context.WithCancelCause(r.Context())
		_, done := r.joining(ctx, plain("x"))
		r.pass(7 * time.Millisecond) // the SUBSCRIBE is under way
		cancel(cause)
		err := <-done
		require.ErrorIs(r, err, context.Canceled)
		require.ErrorIs(r, err, cause)
		r.pass(500 * time.Millisecond)
		require.True(r, r.hub.Subscribed(plain("x")))
		r.pass(time.Second)
		require.Equal(r, []string{"a CONNECT", "a SUBSCRIBE x", "a UNSUBSCRIBE x", "a RELEASE"}, r.takeLog())
		require.Equal(r, [2]int{}, r.state())
	})
}

func TestCancelBeforeAnythingWasSentSendsNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.lag = 5 * time.Millisecond
		ctx, cancel := context.WithCancel(r.Context())
		_, done := r.joining(ctx, plain("x")) // connecting
		cancel()
		require.ErrorIs(r, <-done, context.Canceled)
		r.pass(5 * time.Second)
		require.Equal(r, []string{"a CONNECT", "a RELEASE"}, r.takeLog())

		_, err := r.hub.Subscribe(ctx, plain("x"), func(Event) {})
		require.ErrorIs(r, err, context.Canceled)
		r.set(func() { r.waits = true })
		ctx, cancel = context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		_, err = r.hub.Subscribe(ctx, plain("x"), func(Event) {})
		require.ErrorIs(r, err, context.DeadlineExceeded)
		require.Empty(r, r.takeLog())
		require.Equal(r, [2]int{}, r.state())
	})
}

func TestWhoLeavesIsToldWhatWasInTheWay(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.down = errEnded
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {})
		require.ErrorIs(r, err, errEnded)
		r.set(func() { r.a.lag = 5 * time.Second })
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		_, err = r.hub.Subscribe(ctx, plain("x"), func(Event) {})
		require.ErrorIs(r, err, context.DeadlineExceeded)
		require.ErrorIs(r, err, errEnded)
		r.pass(10 * time.Second)
		r.set(func() { r.a.down = nil })
		r.join(plain("y"))
		r.set(func() { r.a.silent = true })
		ctx, cancel = context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		_, err = r.hub.Subscribe(ctx, plain("x"), func(Event) {})
		require.ErrorIs(r, err, context.DeadlineExceeded)
		require.NotErrorIs(r, err, errEnded, "that is over")
	})
}

func TestOneCancelledSubscribeDoesNotHarmAnother(t *testing.T) {
	bubble(t, func(r *rig) {
		r.a.lag = 5 * time.Millisecond
		ctx, cancel := context.WithCancel(r.Context())
		_, first := r.joining(ctx, plain("x"))
		e, second := r.joining(r.Context(), plain("x"))
		cancel()
		require.ErrorIs(r, <-first, context.Canceled)
		require.NoError(r, <-second)
		r.a.publish(plain("x"), "0")
		require.Equal(r, []string{"0"}, e.take())
		require.Equal(r, []string{"a CONNECT", "a SUBSCRIBE x"}, r.takeLog())
	})
}

func TestCloseEndsEverything(t *testing.T) {
	bubble(t, func(r *rig) {
		e, s := r.join(plain("x"))
		r.home[plain("y")], r.b.hangs = "b", true
		_, connecting := r.joining(r.Context(), plain("y"))
		r.set(func() { r.waits = true })
		_, locating := r.joining(r.Context(), plain("z"))
		conn := r.a.all()[0]
		r.hub.Close()
		r.hub.Close()
		require.ErrorIs(r, <-connecting, ErrClosed)
		require.ErrorIs(r, <-locating, ErrClosed)
		conn.handler.Message(plain("x"), "x", "late")
		require.Empty(r, e.take())
		s.Close()
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {})
		require.ErrorIs(r, err, ErrClosed)
		require.Contains(r, r.takeLog(), "a CLOSE", "not given back: it has subscriptions")
	})
}

func TestSubscriptionThatTheServerKeepsIsNotGivenBack(t *testing.T) {
	bubble(t, func(r *rig) {
		_, s := r.join(plain("x"))
		r.set(func() { r.a.keepSubs = errors.New("NOPERM") })
		s.Close()
		r.takeLog()
		r.pass(time.Second)
		require.Equal(r, []string{"a UNSUBSCRIBE x", "a CLOSE"}, r.takeLog())
	})
}

func TestListenerMayLeaveFromWithin(t *testing.T) {
	bubble(t, func(r *rig) {
		var s *Subscription
		var calls int
		s, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {
			calls++
			assert.True(r, r.hub.Subscribed(plain("x")))
			s.Close()
		})
		require.NoError(r, err)
		other, _ := r.join(plain("x"))
		r.a.publish(plain("x"), "1")
		r.a.publish(plain("x"), "2")
		require.Equal(r, 1, calls)
		require.Equal(r, []string{"1", "2"}, other.take())
	})
}

func TestListenerWhoLeavesWhileAnotherIsToldIsSpared(t *testing.T) {
	bubble(t, func(r *rig) {
		e := &ear{}
		var second *Subscription
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) { second.Close() })
		require.NoError(r, err)
		second, err = r.hub.Subscribe(r.Context(), plain("x"), e.listen)
		require.NoError(r, err)
		r.a.publish(plain("x"), "0")
		require.Empty(r, e.take())
	})
}

func TestListenerIsNeverCalledTwiceAtATime(t *testing.T) {
	bubble(t, func(r *rig) {
		inside, calls := false, 0
		_, err := r.hub.Subscribe(r.Context(), plain("x"), func(Event) {
			assert.False(r, inside) // the race detector watches, too
			inside = true
			calls++
			runtime.Gosched()
			inside = false
		})
		require.NoError(r, err)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { r.hub.message(plain("x"), "x", "0") })
		}
		wg.Wait()
		require.Equal(r, 10, calls)
	})
}

func TestOneGoroutinePerNode(t *testing.T) {
	bubble(t, func(r *rig) {
		before := runtime.NumGoroutine()
		for i := range 3000 {
			name := fmt.Sprint("c", i)
			r.home[plain(name)] = string(rune('a' + i%3))
			r.join(plain(name))
		}
		synctest.Wait()
		require.Equal(r, [2]int{3000, 3}, r.state())
		// Other bubbles run beside this one: hundreds of goroutines, never thousands.
		require.Less(r, runtime.NumGoroutine()-before, 1500)
	})
}

func TestMessagesAreDispatchedWithoutAllocation(t *testing.T) {
	f := newFake()
	h := New(f, Options{})
	defer h.Close()
	var got int
	_, err := h.Subscribe(t.Context(), plain("x"), func(ev Event) { got += len(ev.Payload) })
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() { h.message(plain("x"), "x", "0") }))
	require.Equal(t, 101, got)
}

func BenchmarkMessage(b *testing.B) {
	h := New(newFake(), Options{})
	defer h.Close()
	_, err := h.Subscribe(b.Context(), plain("x"), func(Event) {})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		h.message(plain("x"), "x", "0")
	}
}
