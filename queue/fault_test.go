package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
)

var shortSends, through = enginetest.ShortSends, redistest.ThroughProxy

// books says what became of elements.
type books struct {
	mu      sync.Mutex
	offered map[string]bool // true: for sure
	got     map[string]int
	errs    []error
}

func newBooks() *books { return &books{offered: map[string]bool{}, got: map[string]int{}} }

func (b *books) offer(ctx context.Context, q *Queue[string], v string) error {
	_, err := q.Offer(ctx, v)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil || errors.Is(err, ErrOutcomeUnknown) {
		b.offered[v] = err == nil
	}
	return err
}

func (b *books) take(v string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.got[v]++
	} else {
		b.errs = append(b.errs, err)
	}
}

func (b *books) taken() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.got)
}

// check returns how many were offered for sure and did not come. Nothing comes
// twice, and nothing that nobody has offered.
func (b *books) check(t testing.TB, left ...string) (lost int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range left {
		b.got[v]++
	}
	for v, n := range b.got {
		assert.Equal(t, 1, n, "%q came so often", v)
		_, known := b.offered[v]
		assert.True(t, known, "%q was never offered", v)
	}
	for v, sure := range b.offered {
		if sure && b.got[v] == 0 {
			lost++
		}
	}
	return lost
}

// takers take until the sum is over. Those of a group share a queue.
func (b *books) takers(ctx context.Context, n int, qs ...*Queue[string]) *sync.WaitGroup {
	all := new(sync.WaitGroup)
	for i := range n {
		all.Go(func() {
			for ctx.Err() == nil {
				q := qs[i%len(qs)]
				take := q.Take
				if i/len(qs)%2 == 1 {
					take = q.TakeLast
				}
				if v, err := take(ctx); err == nil || ctx.Err() == nil {
					b.take(v, err)
				}
			}
		})
	}
	return all
}

// onReal runs a test on every kind of real server, each of its own.
var onReal = redistest.OnStarted

// TestAThousandTakersShareTwoConnections, and leave none.
func TestAThousandTakersShareTwoConnections(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		e := engineOn(t, server.Client(t, redistest.OnePipeline))
		var qs []*Queue[string]
		for range 100 {
			qs = append(qs, New[string](e, redistest.Name(t), WithCodec(codec.Text)))
		}
		before := server.Connections(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := newBooks()
		all := b.takers(ctx, 1000, qs...)
		most := 0
		rounds := redistest.Count(t, 1, 50)
		for i := range 1000 * rounds {
			require.NoError(t, b.offer(t.Context(), qs[i%len(qs)], decimal(int64(i))))
			if i%500 == 0 {
				most = max(most, server.Connections(t))
			}
		}
		require.Eventually(t, func() bool { return b.taken() == 1000*rounds }, soon, time.Millisecond)
		most = max(most, server.Connections(t))
		cancel()
		all.Wait()
		require.Zero(t, b.check(t))
		require.Empty(t, b.errs)
		require.LessOrEqual(t, most, before+3)
		redistest.Eventually(t, func() bool { return server.Connections(t) <= before }, soon, 10*time.Millisecond)
		t.Logf("%d connections more while 1,000 waited for 100 queues", most-before)
	})
}

// TestConnectionsThatBreakLoseLittle, and nothing comes twice.
func TestConnectionsThatBreakLoseLittle(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		client, proxy := through(t, server)
		e, direct := engineOn(t, client, shortSends), engineOn(t, server.Client(t))
		var qs, sources []*Queue[string]
		for range 4 {
			qs = append(qs, New[string](e, redistest.Name(t), WithCodec(codec.Text)))
			sources = append(sources, New[string](direct, qs[len(qs)-1].Name(), WithCodec(codec.Text)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := newBooks()
		const takers = 16
		all := b.takers(ctx, takers, qs...)
		elements, cuts := redistest.Count(t, 1000, 20_000), redistest.Count(t, 10, 40)
		for i := range elements {
			if i%(elements/cuts) == elements/cuts/2 {
				proxy.CutAll()
			}
			require.NoError(t, b.offer(t.Context(), sources[i%len(qs)], decimal(int64(i))))
		}
		redistest.Eventually(t, func() bool {
			for _, q := range sources {
				if n, err := q.Len(t.Context()); err != nil || n > 0 {
					return false
				}
			}
			return true
		}, 2*soon, 10*time.Millisecond)
		cancel()
		all.Wait()
		require.NoError(t, locking.Close(t.Context(), e)) // what was on its way to nobody is back then
		var left []string
		for _, q := range sources {
			some, err := q.Drain(t.Context())
			require.NoError(t, err)
			left = append(left, some...)
		}
		lost := b.check(t, left...)
		require.LessOrEqual(t, lost, takers*cuts, "more than one reply to each who waits")
		t.Logf("%d of %d elements lost by %d cuts", lost, elements, cuts)
		for _, err := range b.errs {
			require.ErrorIs(t, err, ErrOutcomeUnknown)
		}
	})
}

// TestCloseLosesNothing that waiters, blocked connections or pops under way have.
func TestCloseLosesNothing(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		direct := engineOn(t, server.Client(t, redistest.OnePipeline))
		closes := redistest.Count(t, 7, 200)
		b := newBooks()
		q := New[string](direct, redistest.Name(t), WithCodec(codec.Text))
		connections := server.Connections(t)
		for round := range closes {
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true})
			require.NoError(t, err)
			e := engineOn(t, client)
			mine := New[string](e, q.Name(), WithCodec(codec.Text))
			all := b.takers(t.Context(), 0)
			for i := range 20 {
				all.Go(func() {
					for e.Open() == nil {
						v, err := []func(context.Context) (string, error){mine.Take, mine.TakeLast, mine.Poll}[i%3](t.Context())
						if err == nil {
							b.take(v, nil)
						}
					}
				})
			}
			var offers sync.WaitGroup
			offers.Go(func() {
				for i := range 100 {
					_ = b.offer(t.Context(), q, decimal(int64(round*1000+i)))
				}
			})
			time.Sleep(time.Duration(round%7) * time.Millisecond)
			require.NoError(t, locking.Close(t.Context(), e))
			all.Wait()
			offers.Wait()
			client.Close()
		}
		require.Len(t, b.offered, 100*closes)
		redistest.Eventually(t, func() bool { return server.Connections(t) <= connections }, soon, 10*time.Millisecond)
		require.Zero(t, b.check(t, contents(t, server.Client(t), q.Name())...))
	})
}

// TestATakeOutlastsARestart of the server.
func TestATakeOutlastsARestart(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		q := New[string](engineOn(t, server.Client(t)), redistest.Name(t), WithCodec(codec.Text))
		result := make(chan string)
		go func() {
			v, err := q.Take(t.Context())
			assert.NoError(t, err)
			result <- v
		}()
		untilWaiting(t, q, head.kind)
		server.Restart()
		require.Eventually(t, func() bool { _, err := q.Offer(t.Context(), "a"); return err == nil }, soon, 10*time.Millisecond)
		require.Equal(t, "a", <-result)
	})
}

// TestASilentServerIsBorneForAWatchdogTimeout, and then those who wait are told.
func TestASilentServerIsBorneForAWatchdogTimeout(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := through(t, server)
	q := New[string](engineOn(t, client, func(c *core.Config) { c.WatchdogTimeout = 2 * time.Second }), redistest.Name(t), WithCodec(codec.Text))
	result := make(chan error)
	go func() {
		_, err := q.Take(t.Context())
		result <- err
	}()
	untilWaiting(t, q, head.kind)
	proxy.Refuse()
	proxy.CutAll()
	err := <-result
	require.Error(t, err)
	require.ErrorContains(t, err, q.Name())
	require.False(t, q.q.h.poller.Waiting(head.kind, q.q.Key))
	proxy.Accept()
}

// takesOf is each way to wait for an element of the same queues.
func takesOf(t *testing.T, e *locking.Engine) (plain *Queue[string], b *Bounded[string], d *Delayed[string], takes map[string]func(context.Context) error) {
	name := redistest.Name(t) + "-plain"
	plain = New[string](e, name, WithCodec(codec.Text))
	b, d = boundedOn(t, e, 2), NewDelayed[string](e, name+"-due", WithCodec(codec.Text))
	return plain, b, d, map[string]func(context.Context) error{
		"take": func(ctx context.Context) error { _, err := plain.Take(ctx); return err },
		"take any": func(ctx context.Context) error {
			_, _, err := TakeAny(ctx, plain, New[string](e, name+"-other"))
			return err
		},
		"take last": func(ctx context.Context) error { _, err := plain.TakeLast(ctx); return err },
		"take move": func(ctx context.Context) error {
			_, err := plain.TakeMove(ctx, Head, New[string](e, name+"-to"), Tail)
			return err
		},
		"bounded": func(ctx context.Context) error { _, err := b.Take(ctx); return err },
		"behind":  func(ctx context.Context) error { _, err := b.Take(ctx); return err },
		"delayed": func(ctx context.Context) error { _, err := d.Take(ctx); return err },
	}
}

// TestAWaitThatBeginsInAnOutageSaysSo, whenever it ends. One in which nothing has failed says
// that its time is over.
func TestAWaitThatBeginsInAnOutageSaysSo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := through(t, server)
	e := engineOn(t, client)
	plain, _, _, takes := takesOf(t, e)
	_, err := plain.Poll(t.Context())
	require.ErrorIs(t, err, ErrEmpty)
	each := func(waits []time.Duration, check func(how string, err error)) {
		var all sync.WaitGroup
		for how, take := range takes {
			for _, wait := range waits {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), wait)
					defer cancel()
					check(how+" for "+wait.String(), take(ctx))
				})
			}
		}
		all.Wait()
	}
	each([]time.Duration{200 * time.Millisecond, time.Second}, func(how string, err error) {
		assert.ErrorIs(t, err, context.DeadlineExceeded, how)
		assert.NotErrorIs(t, err, send.ErrUnreached, how)
	})
	proxy.Refuse()
	proxy.CutAll()
	for range 64 { // a broken connection is noticed by its first user, whose outcome is unknown: that is no waiter here
		client.Do(t.Context(), client.B().Ping().Build())
	}
	unreached := func(how string, err error) {
		assert.ErrorIs(t, err, context.DeadlineExceeded, how)
		assert.ErrorIs(t, err, send.ErrUnreached, how)
		assert.ErrorContains(t, err, proxy.Addr(), how)
	}
	for _, wait := range []time.Duration{500 * time.Millisecond, time.Second, 4 * time.Second} {
		each([]time.Duration{wait}, unreached)
	}
	each([]time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}, unreached)
	proxy.Accept()
	redistest.Eventually(t, func() bool { _, err := plain.Poll(t.Context()); return errors.Is(err, ErrEmpty) }, soon, time.Millisecond)
	each([]time.Duration{2 * time.Second}, func(how string, err error) {
		assert.ErrorIs(t, err, context.DeadlineExceeded, how)
		assert.NotErrorIs(t, err, send.ErrUnreached, how)
	})
}

// TestAWaitBehindPollsThatFailSaysSo, though its own pop is never sent.
func TestAWaitBehindPollsThatFailSaysSo(t *testing.T) {
	t.Parallel()
	client, proxy := through(t, redistest.Start(t))
	q := New[string](engineOn(t, client), redistest.Name(t), WithCodec(codec.Text))
	_, err := q.Poll(t.Context())
	require.ErrorIs(t, err, ErrEmpty)
	proxy.Refuse()
	proxy.CutAll()
	for range 64 {
		client.Do(t.Context(), client.B().Ping().Build())
	}
	var polls sync.WaitGroup
	for range flights {
		polls.Go(func() {
			_, err := q.Poll(context.WithoutCancel(t.Context()))
			assert.Error(t, err)
		})
		time.Sleep(50 * time.Millisecond) // so that each goes out by itself
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = q.Take(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, send.ErrUnreached)
	polls.Wait()
	proxy.Accept()
}

// TestABoundedTakeSaysThatAnElementMayBeLost, if its context ends while the server is asked and the
// answer never comes.
func TestABoundedTakeSaysThatAnElementMayBeLost(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	q := boundedOn(t, engineOn(t, client), 3)
	_, err := q.Offer(t.Context(), "a")
	require.NoError(t, err)
	_, err = q.Poll(t.Context())
	require.NoError(t, err)
	for range 64 { // a connection is taken at random, and none can be made any more
		require.NoError(t, client.Do(t.Context(), client.B().Ping().Build()).Error())
	}
	proxy.BlackHole()
	proxy.ResetLog()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { _, err := q.Take(ctx); ended <- err }()
	proxy.AwaitCount(t, redistest.All(redistest.MatchScript(boundedPoll.Body()), redistest.Arg(q.Name())), 1)
	cancel(enough)
	err = redistest.Done(t, ended)
	proxy.Restore()
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, enough)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorIs(t, err, send.ErrUnreached)
}

// TestAWaitThatEndsInAnOutageSaysSo, however it takes.
func TestAWaitThatEndsInAnOutageSaysSo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := through(t, server)
	e := engineOn(t, client)
	plain, b, d, takes := takesOf(t, e)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	errs := make(map[string]chan error)
	for how, take := range takes {
		err := make(chan error, 1)
		errs[how] = err
		go func() { err <- take(ctx) }()
	}
	waits := []struct {
		kind *poller.Kind
		key  string
		n    int
	}{{head.kind, plain.q.Key, 2}, {tail.kind, plain.q.Key, 1}, {announced, plain.q.Key, 1}, {announced, b.q.Key, 1}, {head.kind, d.q.Key, 1}}
	for _, at := range waits {
		redistest.Eventually(t, func() bool { return plain.q.h.poller.InLine(at.kind, at.key) == at.n }, soon, time.Millisecond)
	}
	redistest.Eventually(t, func() bool { // the second look of what moves was answered, too
		stats, err := client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
		return err == nil && strings.Contains(stats, "cmdstat_lmove:calls=2,")
	}, soon, time.Millisecond)
	for range 64 { // answers come in order on each of the client's connections, which are taken at random
		require.NoError(t, client.Do(t.Context(), client.B().Ping().Build()).Error())
	}
	proxy.Refuse()
	proxy.CutAll()
	for _, at := range waits {
		redistest.Eventually(t, func() bool { return plain.q.h.poller.Failing(at.kind, at.key) != nil }, soon, time.Millisecond)
	}
	done := errors.New("enough")
	cancel(done)
	for how, err := range errs {
		err := <-err
		assert.ErrorIs(t, err, context.Canceled, how)
		assert.ErrorIs(t, err, done, how)
		assert.ErrorIs(t, err, send.ErrUnreached, how)
	}
	proxy.Accept()
}

// TestAllWhoWaitInAnOutageAreTold, though the first of them leaves the line while the others ask why.
func TestAllWhoWaitInAnOutageAreTold(t *testing.T) {
	t.Parallel()
	client, proxy := through(t, redistest.Start(t))
	e := engineOn(t, client)
	b := boundedOn(t, e, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const n = 1000
	errs := make(chan error, n)
	for range n {
		go func() { _, err := b.Take(ctx); errs <- err }()
	}
	redistest.Eventually(t, func() bool { return b.q.h.poller.InLine(announced, b.q.Key) == 1 }, soon, time.Millisecond)
	l := b.q.h.takers.Get(b.q.Key)
	defer b.q.h.takers.Put(b.q.Key, l)
	redistest.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.line) == n && l.asked == 0
	}, soon, time.Millisecond)
	proxy.Refuse()
	proxy.CutAll()
	redistest.Eventually(t, func() bool { return b.q.h.poller.Failing(announced, b.q.Key) != nil }, soon, time.Millisecond)
	cancel()
	for range n {
		require.ErrorIs(t, <-errs, send.ErrUnreached)
	}
	proxy.Accept()
}

// TestWhatIsPutBackIsPutBackOnce, though the reply to that is lost.
func TestWhatIsPutBackIsPutBackOnce(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		for _, end := range []*end{head, tail} {
			client, proxy := through(t, server)
			e := engineOn(t, client, shortSends)
			q := New[string](e, redistest.Name(t), WithCodec(codec.Text))
			offered(t, q, "c")
			lost := proxy.DropReply(redistest.MatchScript(backScript.Body()), 2)
			e.During(func() { q.q.h.putBack(end, q.q.Key, []poller.Item{{Text: "a"}, {Text: "b"}}) })
			lost.Await(t)
			require.Eventually(t, func() bool { n, err := q.Len(t.Context()); return err == nil && n == 3 }, soon, time.Millisecond)
			want := []string{"a", "b", "c"}
			if end == tail {
				want = []string{"c", "b", "a"} // as they were popped from there
			}
			require.NoError(t, locking.Close(t.Context(), e)) // which waits for what is said again
			require.Equal(t, want, contents(t, server.Client(t), q.Name()))
		}
	})
}

// TestWhatWasTakenBeforeAnErrorComesWithIt: a call of several commands returns what the first
// of them brought. The second call knows that elements are short, and is one command.
func TestWhatWasTakenBeforeAnErrorComesWithIt(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	e, name := engineOn(t, client), named(t, server.Client(t))
	for how, take := range map[string]func(context.Context, *Queue[string]) ([]string, error){
		"poll n": func(ctx context.Context, q *Queue[string]) ([]string, error) { return q.PollN(ctx, 3) },
		"take n": func(ctx context.Context, q *Queue[string]) ([]string, error) { return q.TakeN(ctx, 3) },
		"drain":  func(ctx context.Context, q *Queue[string]) ([]string, error) { return q.Drain(ctx) },
	} {
		q := New[string](e, name+how, WithCodec(codec.Text))
		offered(t, q, "a", "b", "c")
		lost := proxy.DropReply(redistest.All(redistest.Command("LPOP"), redistest.Arg(q.Name()), redistest.Arg("2")), 1)
		got, err := take(t.Context(), q)
		lost.Await(t)
		require.ErrorIs(t, err, ErrOutcomeUnknown, how)
		require.Equal(t, []string{"a"}, got, how)
		offered(t, q, "d", "e", "f", "g")
		lost = proxy.DropReply(redistest.All(redistest.Command("LPOP"), redistest.Arg(q.Name()), redistest.Arg("3")), 1)
		got, err = q.PollN(t.Context(), 3)
		lost.Await(t)
		require.ErrorIs(t, err, ErrOutcomeUnknown, how)
		require.Empty(t, got, how)
		require.Equal(t, "g", strings.Join(contents(t, server.Client(t), q.Name()), " "), how)
	}
}

// TestWhatAPriorityQueueGaveBeforeAnErrorComesWithIt, by its score.
func TestWhatAPriorityQueueGaveBeforeAnErrorComesWithIt(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	q := NewPriority[string](engineOn(t, client), named(t, server.Client(t)), WithCodec(codec.Text))
	for i, v := range []string{"a", "b", "c", "d"} {
		_, err := q.Offer(t.Context(), v, float64(i))
		require.NoError(t, err)
	}
	lost := proxy.DropReply(redistest.All(redistest.Command("ZPOPMIN"), redistest.Arg(q.Name()), redistest.Arg("2")), 1)
	got, err := q.PollN(t.Context(), 3)
	lost.Await(t)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.Equal(t, []Scored[string]{{"a", 0}}, got)
	got, err = q.PollN(t.Context(), 3)
	require.NoError(t, err)
	require.Equal(t, []Scored[string]{{"d", 3}}, got, "what the lost answer had is gone")
}

// TestPollsOfLongElementsGoByAConnectionOfTheirOwn, though each of them is short enough.
func TestPollsOfLongElementsGoByAConnectionOfTheirOwn(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server, func(o *rueidis.ClientOption) { o.PipelineMultiplex = -1 }) // one connection for all else
	e := engineOn(t, client)
	q := New[string](e, named(t, server.Client(t)), WithCodec(codec.Text))
	isPop := redistest.All(redistest.Command("LPOP"), redistest.Arg(q.Name()))
	var carriers []redistest.Conn
	for _, polls := range []int{1, 4} {
		batch := make([]*popCall, polls)
		for i := range batch {
			offered(t, q, strings.Repeat("x", 100_000))
			batch[i] = &popCall{Ask: popAsk{from: head, bytes: 100_000}}
		}
		require.NoError(t, q.q.h.sendPops(side{lpop, q.q.Key}, 0, batch))
		for _, c := range batch {
			require.Len(t, c.Answer, 1)
		}
		is := proxy.LastCarrier(isPop)
		for _, conn := range proxy.Conns() {
			if is(conn) {
				carriers = append(carriers, conn)
			}
		}
	}
	require.Len(t, carriers, 2)
	require.NotEqual(t, carriers[0].Index, carriers[1].Index)
}

// TestPollsThatGoOutAsOneBringAMegabyte, if what they bring is like that before.
func TestPollsThatGoOutAsOneBringAMegabyte(t *testing.T) {
	t.Parallel()
	for mean, want := range map[int64]int{0: 16, 1: mostPops, 100: mostPops, 100_000: 10, 600_000: 1, 20 << 20: 1} {
		waiting := make([]*popCall, 200)
		for i := range waiting {
			waiting[i] = &popCall{Ask: popAsk{from: head, bytes: mean}}
		}
		require.Equal(t, want, cutPops(waiting), mean)
		require.Equal(t, 1, cutPops(waiting[:1]), mean)
	}
}

// TestALostReply drops the reply to each operation once. It was sent once, and
// says so.
func TestALostReply(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, c := range map[string]struct {
		command string
		do      func(context.Context, *Queue[string]) error
		left    []string
	}{
		"offer":     {"RPUSH", func(ctx context.Context, q *Queue[string]) error { _, err := q.Offer(ctx, "c"); return err }, []string{"a", "b", "c"}},
		"first":     {"LPUSH", func(ctx context.Context, q *Queue[string]) error { _, err := q.OfferFirst(ctx, "c"); return err }, []string{"c", "a", "b"}},
		"if exists": {"RPUSHX", func(ctx context.Context, q *Queue[string]) error { _, err := q.OfferIfExists(ctx, "c"); return err }, []string{"a", "b", "c"}},
		"poll":      {"LPOP", func(ctx context.Context, q *Queue[string]) error { _, err := q.Poll(ctx); return err }, []string{"b"}},
		"poll last": {"RPOP", func(ctx context.Context, q *Queue[string]) error { _, err := q.PollLast(ctx); return err }, []string{"a"}},
		"poll n":    {"LPOP", func(ctx context.Context, q *Queue[string]) error { _, err := q.PollN(ctx, 2); return err }, []string{"b"}},
		"drain":     {"LPOP", func(ctx context.Context, q *Queue[string]) error { _, err := q.Drain(ctx); return err }, []string{"b"}},
		"move":      {"LMOVE", func(ctx context.Context, q *Queue[string]) error { _, err := q.MoveTo(ctx, q); return err }, []string{"b", "a"}},
		"remove":    {"LREM", func(ctx context.Context, q *Queue[string]) error { _, err := q.Remove(ctx, "a", 0); return err }, []string{"b"}},
		"delete":    {"UNLINK", func(ctx context.Context, q *Queue[string]) error { _, err := q.Delete(ctx); return err }, nil},
		"expire": {"EVALSHA", func(ctx context.Context, q *Queue[string]) error {
			_, err := q.Expire(ctx, time.Hour)
			return err
		}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := server.Client(t)
			client, proxy := through(t, server)
			q := New[string](engineOn(t, client), named(t, raw), WithCodec(codec.Text))
			offered(t, q, "a", "b")
			_, err := q.Persist(t.Context())
			require.NoError(t, err)
			lost := proxy.DropReply(redistest.All(redistest.Command(c.command), redistest.Arg(q.Name())), 1)
			err = c.do(t.Context(), q)
			lost.Await(t)
			require.ErrorIs(t, err, ErrOutcomeUnknown)
			require.ErrorContains(t, err, q.Name())
			require.Equal(t, strings.Join(c.left, " "), strings.Join(contents(t, raw, q.Name()), " "))
		})
	}
}
