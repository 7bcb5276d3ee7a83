package poller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// waiting is somebody who waits for names.
type waiting struct {
	got   Taken
	ended bool
	took  time.Duration
	done  chan struct{}
}

func wait(ctx context.Context, p *Poller, k *Kind, names ...string) *waiting {
	w := &waiting{done: make(chan struct{})}
	began := time.Now()
	go func() {
		defer close(w.done)
		w.got, w.ended = awaits(ctx, p, k, names...)
		w.took = time.Since(began)
	}()
	synctest.Wait() // it stands in line
	return w
}

func (w *waiting) gets(t *testing.T, key, text string) {
	t.Helper()
	<-w.done
	require.False(t, w.ended)
	require.NoError(t, w.got.Err)
	require.Equal(t, Taken{Key: key, Item: Item{Text: text}}, w.got)
}

func TestThoseInLineAreServedInOrder(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		var all []*waiting
		for range 10 {
			all = append(all, wait(t.Context(), p, Head, "a"))
		}
		require.True(t, p.Waiting(Head, "a"))
		require.Equal(t, 10, p.InLine(Head, "a"))
		require.False(t, p.Waiting(Tail, "a"))
		for i := range all {
			f.push("a", fmt.Sprint(i))
		}
		for i, w := range all {
			w.gets(t, "a", fmt.Sprint(i))
		}
		require.False(t, p.Waiting(Head, "a"))
		require.Equal(t, 1, f.most)
		time.Sleep(2 * options.Linger)
		synctest.Wait()
		require.Zero(t, f.conns, "a connection that nobody needs")
		require.Empty(t, p.nodes)
		require.Empty(t, p.groups)
	})
}

func TestManyNamesShareACommand(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		f.early = 3 // words that come before the command blocks are said again
		var all []*waiting
		for i := range 50 {
			all = append(all, wait(t.Context(), p, Head, fmt.Sprint(i)))
		}
		began := time.Now()
		for i := range all {
			f.push(fmt.Sprint(i), "x")
		}
		for i, w := range all {
			w.gets(t, fmt.Sprint(i), "x")
		}
		require.Less(t, time.Since(began), options.Block, "nobody waits for the end of a command")
		require.Equal(t, 1, f.most)
	})
}

func TestNoBusyNameStarvesTheOthers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		other := wait(t.Context(), p, Head, "other")
		taken := 0
		for i := range 1000 {
			f.change(func() { f.queues["busy"] = append(f.queues["busy"], Item{Text: "x"}) })
			if i == 10 {
				f.push("other", "y")
			}
			wait(t.Context(), p, Head, "busy").gets(t, "busy", "x")
			taken++
			select {
			case <-other.done:
				require.Less(t, taken, 15)
				return
			default:
			}
		}
		t.Fatal("the other was never served")
	})
}

func TestACallerThatGoesTakesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		f.deaf = true // so that the command is still there when its caller is not
		ctx, cancel := context.WithCancel(t.Context())
		w := wait(ctx, p, Head, "a")
		cancel()
		<-w.done
		require.True(t, w.ended)
		require.False(t, p.Waiting(Head, "a"))
		f.push("a", "x")
		synctest.Wait()
		require.Equal(t, map[string][]Item{"a": {{Text: "x"}}}, f.back)
	})
}

func TestOneWhoStandsInSeveralLinesGetsOne(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		w := wait(t.Context(), p, Head, "a", "b")
		next := wait(t.Context(), p, Head, "b")
		f.push("a", "1")
		w.gets(t, "a", "1")
		f.push("b", "2")
		next.gets(t, "b", "2")
	})
}

// TestConnectionsAreBounded, and the last of them polls where there are more slots.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		f.slots = 1000
		var all []*waiting
		for i := range 30 {
			all = append(all, wait(t.Context(), p, Head, fmt.Sprint(i)))
		}
		time.Sleep(time.Second)
		began := time.Now()
		for i := range all {
			f.push(fmt.Sprint(i), "x")
		}
		for i, w := range all {
			w.gets(t, fmt.Sprint(i), "x")
		}
		require.Equal(t, options.Connections, f.most)
		require.LessOrEqual(t, time.Since(began), 2*leastPoll)
	})
}

// TestManySlotsArePolled, each name as often as all of them allow, and connections that become free block for some of them.
func TestManySlotsArePolled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		const names, idle = 1000, 10 * time.Second
		f.slots = 100_000
		all := map[string]*waiting{}
		for i := range names {
			all[fmt.Sprint(i)] = wait(t.Context(), p, []*Kind{Head, Tail, Lowest}[i%3], fmt.Sprint(i))
		}
		every := names * perLook
		time.Sleep(2 * every)
		synctest.Wait()
		count := func() (looks, blocks int) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.looks, f.blocks
		}
		looks, blocks := count()
		time.Sleep(idle)
		asked, blocked := count()
		require.LessOrEqual(t, asked-looks, int(idle/perLook)+names)
		require.LessOrEqual(t, blocked-blocks, int(idle/options.Block)+1)
		for name, w := range all {
			began := time.Now()
			f.push(name, "x")
			w.gets(t, name, "x")
			require.LessOrEqual(t, time.Since(began), every+leastPoll)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * options.Linger)
		synctest.Wait()
		require.Zero(t, f.lost)
		require.Empty(t, f.back)
		require.Equal(t, options.Connections, f.most)
		require.Zero(t, f.conns)
		require.Empty(t, p.nodes)
	})
}

// TestThePolledAreTold of an outage, a refusal, and that the client closes, as others are.
func TestThePolledAreTold(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		f.slots = 1000
		var all []*waiting
		for i := range 30 {
			all = append(all, wait(t.Context(), p, Head, fmt.Sprint(i)))
		}
		time.Sleep(time.Second)
		f.change(func() { f.bad["7"] = errFinal })
		<-all[7].done
		require.ErrorIs(t, all[7].got.Err, errFinal)
		f.change(func() { f.silent = errUnknown })
		time.Sleep(options.Bear / 2)
		for i := range all {
			if i != 7 {
				require.ErrorIs(t, p.Failing(Head, fmt.Sprint(i)), errUnknown)
			}
		}
		f.change(func() { f.silent = nil })
		time.Sleep(2 * mostPause)
		for i := range all {
			require.NoError(t, p.Failing(Head, fmt.Sprint(i)))
		}
		f.push("8", "x")
		all[8].gets(t, "8", "x")
		f.change(func() { f.silent = errUnknown })
		time.Sleep(options.Bear / 2)
		require.False(t, isDone(all[9]))
		time.Sleep(options.Bear)
		for i, w := range all {
			<-w.done
			if i != 8 {
				require.Error(t, w.got.Err)
			}
		}
		f.change(func() { f.silent = nil })
		for i := range all {
			all[i] = wait(t.Context(), p, Head, fmt.Sprint(i))
		}
		f.close()
		for _, w := range all {
			<-w.done
			require.True(t, w.ended)
		}
	})
}

// inTurns runs a test with callers for more names than there are connections. All connections but the last block; the
// last one polls.
func inTurns(t *testing.T, test func(t *testing.T, f *fake, p *Poller, all []*waiting)) {
	t.Helper()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		f.slots = 100_000
		var all []*waiting
		for i := range 30 {
			all = append(all, wait(t.Context(), p, Head, fmt.Sprint(i)))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		test(t, f, p, all)
		f.close()
	})
}

// TestAPolledNameIsRefused by a look or by a pop, without a word to the others, which are served, and without a new connection.
func TestAPolledNameIsRefused(t *testing.T) {
	t.Parallel()
	for how, refuse := range map[string]func(f *fake){
		"look": func(f *fake) { f.unseen["15"] = errPassing },
		"pop":  func(f *fake) { f.refuses["15"] = errPassing },
	} {
		t.Run(how, func(t *testing.T) {
			inTurns(t, func(t *testing.T, f *fake, p *Poller, all []*waiting) {
				f.change(func() { refuse(f) })
				made := f.made
				f.push("15", "x")
				time.Sleep(options.Bear / 2)
				for i := range all {
					if i != 15 {
						require.NoError(t, p.Failing(Head, fmt.Sprint(i)))
					}
				}
				require.ErrorIs(t, p.Failing(Head, "15"), errPassing)
				began := time.Now()
				f.push("29", "y")
				all[29].gets(t, "29", "y")
				require.LessOrEqual(t, time.Since(began), 2*leastPoll)
				<-all[15].done
				require.ErrorIs(t, all[15].got.Err, errPassing)
				synctest.Wait()
				require.Equal(t, made, f.made)
			})
		})
	}
}

// TestWhoMayPopAndNotLookIsServed: a refused look says nothing of a pop.
func TestWhoMayPopAndNotLookIsServed(t *testing.T) {
	t.Parallel()
	inTurns(t, func(t *testing.T, f *fake, p *Poller, all []*waiting) {
		f.change(func() {
			for i := range all {
				f.unseen[fmt.Sprint(i)] = errFinal
			}
		})
		time.Sleep(time.Second)
		for i, w := range all {
			f.push(fmt.Sprint(i), "x")
			w.gets(t, fmt.Sprint(i), "x")
		}
	})
}

// TestASlotOfManyNamesMoves: each of them is popped from once in a round.
func TestASlotOfManyNamesMoves(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		const names = 200
		for i := range 10 { // alone in their slots
			wait(t.Context(), p, &Kind{Alone: true, Block: "x", Pop: "x"}, fmt.Sprint("alone", i))
		}
		for i := range names {
			wait(t.Context(), p, Head, fmt.Sprint(i))
		}
		time.Sleep(time.Second)
		f.change(func() {
			for i := range names {
				f.unseen[fmt.Sprint(i)] = errMoving
			}
			f.common = 0
		})
		time.Sleep(10 * leastPoll)
		synctest.Wait()
		require.Positive(t, f.common)
		require.LessOrEqual(t, f.common, 11*names)
	})
}

// TestManyPolledNamesAreTakenFromTogether, and no longer than somebody stands in line.
func TestManyPolledNamesAreTakenFromTogether(t *testing.T) {
	t.Parallel()
	inTurns(t, func(t *testing.T, f *fake, p *Poller, all []*waiting) {
		f.change(func() { f.slow = time.Second })
		began := time.Now()
		for i := range all {
			f.push(fmt.Sprint(i), "x")
		}
		for i, w := range all {
			w.gets(t, fmt.Sprint(i), "x")
		}
		require.LessOrEqual(t, time.Since(began), 4*f.slow)

		ctx, cancel := context.WithTimeout(t.Context(), f.slow/2)
		defer cancel()
		for i := range 200 { // of unknown length, so that a pipeline has 16
			go p.Await(ctx, p.Join(Head, fmt.Sprint("left", i)))
		}
		time.Sleep(f.slow / 4)
		for i := range 200 {
			f.push(fmt.Sprint("left", i), "x")
		}
		time.Sleep(10 * f.slow)
		synctest.Wait()
		require.LessOrEqual(t, f.backs, mostBytes/unknownBytes+options.Connections)
	})
}

func isDone(w *waiting) bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// TestWhereNothingEndsACommand they are short.
func TestWhereNothingEndsACommand(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		f.deaf = true
		wait(t.Context(), p, Head, "a")
		b := wait(t.Context(), p, Head, "b")
		f.push("b", "x")
		b.gets(t, "b", "x")
		require.LessOrEqual(t, b.took, options.Short)
		f.push("a", "y")
	})
}

func TestARefusalIsTheBusinessOfItsName(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		good := wait(t.Context(), p, Head, "good")
		bad := wait(t.Context(), p, Head, "bad")
		f.change(func() { f.bad["bad"] = errFinal })
		<-bad.done
		require.ErrorIs(t, bad.got.Err, errFinal)
		f.push("good", "x")
		good.gets(t, "good", "x")
	})
}

// TestARefusalThatIsAboutNoName is told to all, when it comes again.
func TestARefusalThatIsAboutNoName(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		a, b := wait(t.Context(), p, Head, "a"), wait(t.Context(), p, Head, "b")
		f.change(func() { f.down = errFinal })
		<-a.done
		<-b.done
		require.ErrorIs(t, a.got.Err, errFinal)
		require.ErrorIs(t, b.got.Err, errFinal)
		f.change(func() { f.down = nil })
	})
}

// TestAnOutageIsBorne for a while, and whoever came later waits on.
func TestAnOutageIsBorne(t *testing.T) {
	t.Parallel()
	for _, down := range []error{errPassing, errUnknown} {
		inBubble(t, func(t *testing.T, f *fake, p *Poller) {
			old := wait(t.Context(), p, Head, "a")
			f.change(func() { f.down = down })
			time.Sleep(options.Bear / 2)
			young := wait(t.Context(), p, Head, "a")
			<-old.done
			require.ErrorIs(t, old.got.Err, down)
			require.InDelta(t, options.Bear.Seconds(), old.took.Seconds(), 2)
			f.change(func() { f.down = nil })
			f.push("a", "x")
			young.gets(t, "a", "x")
			if down == errUnknown {
				require.Equal(t, 1, f.lost, "the command that was under way; to connect loses nothing")
			} else {
				require.Zero(t, f.lost)
			}
		})
	}
}

// awaits stands in line until it is over.
func awaits(ctx context.Context, p *Poller, k *Kind, names ...string) (got Taken, ended bool) {
	return p.Await(ctx, p.Join(k, names...))
}

// TestWhoLeavesInAnOutageIsToldOfIt, and nobody afterwards.
func TestWhoLeavesInAnOutageIsToldOfIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		leaves := func() (got Taken) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			got, ended := awaits(ctx, p, Head, "a", "b")
			require.True(t, ended)
			return got
		}
		require.Equal(t, Taken{}, leaves())
		f.change(func() { f.down = errPassing })
		other := wait(t.Context(), p, Head, "b")
		require.Equal(t, Taken{Err: errPassing}, leaves())
		require.Equal(t, errPassing, p.Failing(Head, "b"))
		f.change(func() { f.down = nil })
		time.Sleep(2 * time.Second) // and it is heard of before the command has answered
		require.NoError(t, p.Failing(Head, "b"))
		require.Equal(t, Taken{}, leaves())
		f.push("b", "x")
		other.gets(t, "b", "x")
		require.NoError(t, p.Failing(Head, "b"))
	})
}

// TestAnOutageOfOneGroupIsNotThatOfAnother: other groups of the server hear nothing of it, and
// neither does a caller who comes later.
func TestAnOutageOfOneGroupIsNotThatOfAnother(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		f.bad["b"] = errPassing
		leaves := func(k *Kind, name string, after time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			got, ended := awaits(ctx, p, k, name)
			require.True(t, ended)
			return got.Err
		}
		stays, served := wait(t.Context(), p, Tail, "b"), wait(t.Context(), p, Head, "c")
		for range 20 {
			require.NoError(t, leaves(Head, "a", 137*time.Millisecond))
			require.Equal(t, errPassing, leaves(Tail, "b", 137*time.Millisecond))
			require.Equal(t, errPassing, p.Failing(Tail, "b"))
			require.NoError(t, p.Failing(Head, "c"))
			require.NoError(t, p.Failing(Head, "a"), "others wait on a connection")
		}
		f.push("c", "x")
		served.gets(t, "c", "x")
		f.change(func() { delete(f.bad, "b") })
		f.push("b", "x")
		stays.gets(t, "b", "x")
		require.NoError(t, p.Failing(Tail, "b"))

		f.bad["b"] = errPassing
		require.Equal(t, errPassing, leaves(Tail, "b", 5*time.Second))
		require.NoError(t, p.Failing(Tail, "b"), "nobody waits")
	})
}

// TestWhatAnotherCallHasFailedOf is why nobody is served, until a connection has answered: that is asked at once.
func TestWhatAnotherCallHasFailedOf(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		p.Fails(Head, "a", errPassing) // nobody waits
		require.NoError(t, p.Failing(Head, "a"))
		w, other := wait(t.Context(), p, Head, "a"), wait(t.Context(), p, Head, "b")
		p.Fails(Head, "a", errPassing) // the connection that waits may be dead
		require.Equal(t, errPassing, p.Failing(Head, "a"))
		require.NoError(t, p.Failing(Head, "b"), "nothing was wrong with that")
		synctest.Wait()
		require.NoError(t, p.Failing(Head, "a"))
		f.push("b", "x")
		other.gets(t, "b", "x")
		f.change(func() { f.down = errUnknown })
		time.Sleep(time.Second)
		require.Equal(t, errUnknown, p.Failing(Head, "a"))
		p.Fails(Head, "a", errPassing)
		require.Equal(t, errPassing, p.Failing(Head, "a"))
		f.change(func() { f.down = nil })
		time.Sleep(2 * time.Second)
		require.NoError(t, p.Failing(Head, "a"))
		f.push("a", "x")
		w.gets(t, "a", "x")
	})
}

// TestAConnectionThatMayBeDeadIsNoProof that the server is reached: whoever has heard of an outage elsewhere
// is told of it, though a connection is kept, or waits.
func TestAConnectionThatMayBeDeadIsNoProof(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		leaves := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			place := p.Join(Head, "a")
			synctest.Wait()
			p.Fails(Head, "a", errPassing)
			got, ended := p.Await(ctx, place)
			require.True(t, ended)
			return got.Err
		}
		w := wait(t.Context(), p, Head, "a")
		f.push("a", "x")
		w.gets(t, "a", "x")
		f.change(func() { f.silent = errUnknown }) // the connection is kept
		require.Equal(t, errPassing, leaves())
		require.Error(t, leaves())
		stays := wait(t.Context(), p, Head, "a")
		require.Error(t, leaves())
		time.Sleep(2 * options.Block)
		require.Equal(t, errUnknown, p.Failing(Head, "a"), "the connection was given up")
		f.change(func() { f.silent = nil })
		time.Sleep(2 * mostPause)
		require.NoError(t, p.Failing(Head, "a"))
		f.push("a", "x")
		stays.gets(t, "a", "x")
	})
}

// allServed has so many callers wait for a name, who expect elements of known bytes. Each of them is to be served.
func allServed(t *testing.T, p *Poller, callers int, known int64) *sync.WaitGroup {
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			got, ended := p.Await(t.Context(), p.JoinFor(Head, known, nil, "a"))
			require.False(t, ended)
			require.NoError(t, got.Err)
		})
	}
	synctest.Wait()
	return &all
}

// TestElementsThatFollowComeAMegabyteAtATime, and few first where nobody knows how long they are.
func TestElementsThatFollowComeAMegabyteAtATime(t *testing.T) {
	t.Parallel()
	const callers, long = 40, 300 << 10
	for known, most := range map[int64]int64{0: mostGrowth * long, long: mostBytes} {
		inBubble(t, func(t *testing.T, f *fake, p *Poller) {
			served := allServed(t, p, callers, known)
			texts := []string{"x"}
			for range callers - 1 {
				texts = append(texts, strings.Repeat("x", long))
			}
			f.push("a", texts...)
			served.Wait()
			require.LessOrEqual(t, slices.Max(f.popped), most)
			require.Less(t, len(f.popped), callers)
		})
	}
}

// TestALongLineOfLongElementsIsServedToItsEnd, whatever the callers know of their length.
func TestALongLineOfLongElementsIsServedToItsEnd(t *testing.T) {
	t.Parallel()
	const callers, long = 200, mostBytes
	for _, known := range []int64{0, long} {
		inBubble(t, func(t *testing.T, f *fake, p *Poller) {
			served := allServed(t, p, callers, known)
			f.push("a", slices.Repeat([]string{strings.Repeat("x", long)}, callers)...)
			served.Wait()
			require.LessOrEqual(t, slices.Max(f.popped), int64(mostBytes))
			require.LessOrEqual(t, len(f.popped), 2*callers, "no pops for nobody")
		})
	}
}

// TestATurnEndsForOthers: elements that follow each other do not hold up another name of the server for longer than an
// answer takes, and those for whom nobody stands in line any more go back together.
func TestATurnEndsForOthers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		f.slow = time.Second
		ctx, cancel := context.WithTimeout(t.Context(), f.slow/2)
		defer cancel()
		const callers, long = 50, 10 << 10
		var all sync.WaitGroup
		for range callers {
			all.Go(func() { p.Await(ctx, p.JoinFor(Head, 0, nil, "a")) })
		}
		other := wait(t.Context(), p, Head, "b")
		began := time.Now()
		f.push("a", slices.Repeat([]string{strings.Repeat("x", long)}, callers)...)
		synctest.Wait() // the first is there, and a pop of others is under way
		f.push("b", "y")
		other.gets(t, "b", "y")
		require.LessOrEqual(t, time.Since(began), 2*f.slow)
		all.Wait()
		require.Equal(t, 1, f.backs, "of one pop")
		require.Len(t, f.back["a"], mostGrowth)
	})
}

// TestAShortOutageIsNoticedByNobody.
func TestAShortOutageIsNoticedByNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		for range 5 { // which are no outage together
			w := wait(t.Context(), p, Head, "a")
			f.change(func() { f.down = errPassing })
			time.Sleep(options.Bear / 2)
			f.change(func() { f.down = nil })
			time.Sleep(2 * time.Second)
			f.push("a", "x")
			w.gets(t, "a", "x")
		}
	})
}

// TestASlotThatMoves is taken from by the connection that follows it, soon: nobody
// waits for the end of a command that blocks where nothing comes any more.
func TestASlotThatMoves(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		w := wait(t.Context(), p, Head, "a")
		f.change(func() { f.down = errMoving })
		f.push("a", "x")
		w.gets(t, "a", "x")
		require.Less(t, w.took, time.Second)
		f.change(func() { f.down = nil })
	})
}

func TestACloseEndsAllWhoWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		a, b := wait(t.Context(), p, Head, "a"), wait(t.Context(), p, Tail, "b")
		began := time.Now()
		f.close()
		<-a.done
		<-b.done
		require.True(t, a.ended && b.ended)
		require.Less(t, time.Since(began), options.Grace)
		require.Zero(t, f.conns)
		c := wait(t.Context(), p, Head, "c") // nobody serves it, and it knows
		<-c.done
		require.True(t, c.ended)
	})
}

// TestACloseBreaksOffWhatDoesNotAnswer.
func TestACloseBreaksOffWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		f.stuck = true
		w := wait(t.Context(), p, Head, "a")
		began := time.Now()
		f.close()
		<-w.done
		require.True(t, w.ended)
		require.InDelta(t, options.Grace.Seconds(), time.Since(began).Seconds(), 0.5)
		require.Zero(t, f.conns)
		require.Zero(t, f.lost, "nothing that anybody waits for")
	})
}

// TestAKindThatTellsTakesNothing: all who stand in line are told.
func TestAKindThatTells(t *testing.T) {
	t.Parallel()
	news := &Kind{Tells: true}
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		var all []*waiting
		for range 5 {
			all = append(all, wait(t.Context(), p, news, "a"))
		}
		other := wait(t.Context(), p, news, "b")
		f.push("a", "")
		for _, w := range all {
			w.gets(t, "a", "")
		}
		p.Tell(news, "b")
		other.gets(t, "b", "")
		p.Tell(news, "nobody waits for it")
		f.push("a", "") // for nobody
		synctest.Wait()
		require.Empty(t, f.back)

		w := wait(t.Context(), p, news, "a", "b") // of which the first is there still
		w.gets(t, "a", "")
		w = wait(t.Context(), p, news, "c")
		f.change(func() { f.down = errMoving })
		f.push("c", "")
		w.gets(t, "c", "")
		w = wait(t.Context(), p, news, "d")
		f.change(func() { f.down = errUnknown })
		time.Sleep(time.Second)
		require.Zero(t, f.lost)
		f.change(func() { f.down = nil })
		f.push("d", "")
		w.gets(t, "d", "")
	})
}

// TestALineMayBeLeftBeforeItIsWaitedIn.
func TestALineMayBeLeft(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		at := p.Join(Head, "a")
		_, ended := p.Leave(at)
		require.True(t, ended)
		at = p.Join(Head, "a")
		f.push("a", "x")
		synctest.Wait()
		got, ended := p.Leave(at)
		require.False(t, ended, "it came at the same time")
		require.Equal(t, "x", got.Item.Text)
	})
}

// TestManyComeAndGo: each element comes to one, or is put back.
func TestManyComeAndGo(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, f *fake, p *Poller) {
		f.slots = 7
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for i := range 64 {
			all.Go(func() {
				for j := range 20 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(i*7+j*13)%50)*time.Millisecond)
					taken, ended := awaits(ctx, p, []*Kind{Head, Tail}[i%2], names[(i+j)%len(names)])
					cancel()
					if !ended {
						mu.Lock()
						got[taken.Item.Text]++
						mu.Unlock()
					}
				}
			})
		}
		for i := range 500 {
			f.push(names[i%len(names)], fmt.Sprint(i))
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		f.close()
		synctest.Wait()
		for _, items := range f.back {
			for _, it := range items {
				got[it.Text]++
			}
		}
		for _, items := range f.queues {
			for _, it := range items {
				got[it.Text]++
			}
		}
		require.Len(t, got, 500)
		for text, n := range got {
			require.Equal(t, 1, n, text)
		}
		require.LessOrEqual(t, f.most, options.Connections)
		require.Empty(t, p.lines)
	})
}
