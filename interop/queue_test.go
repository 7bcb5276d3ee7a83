//go:build interop

package interop

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/queue"
)

var queueProofs = []proof{
	{row: "queue/operations/go-java", test: goUsesAQueue},
	{row: "queue/operations/java-go", test: javaUsesAQueue},
	{row: "queue/take/go-java", test: goOffersToJava},
	{row: "queue/take/java-go", test: javaOffersToGo},
	{row: "deque/take_last/go-java", test: goOffersToJavasTail},
	{row: "deque/take_last/java-go", test: javaOffersToGosTail},
	{row: "queue/codecs/both", test: queuesOfAnyCodec},
	{row: "queue/each_element_once/both", test: bothTake},
	{row: "bounded_queue/operations/go-java", test: goUsesABoundedQueue},
	{row: "bounded_queue/operations/java-go", test: javaUsesABoundedQueue},
	{row: "bounded_queue/wake-up/go-java", test: goMakesRoom},
	{row: "bounded_queue/wake-up/java-go", test: javaMakesRoom},
}

// boundedWaits go on beside each other.
var boundedWaits = []proof{
	{row: "bounded_queue/killed_taker/both", test: bothTakeInTurn},
}

// queueEssentials have no deques: those of Redisson 3.24.3 need Java 21.
var queueEssentials = []proof{
	{row: "queue/take/go-java", test: goOffersToJava},
	{row: "queue/take/java-go", test: javaOffersToGo},
	{row: "bounded_queue/wake-up/go-java", test: goMakesRoom},
}

// line is a queue of texts as both sides see it.
type line struct {
	*world
	t      *testing.T
	ctx    context.Context
	name   string
	client *rueidisson.Client
	mine   *queue.Queue[string]
	theirs peer.Queue
	deque  peer.Queue // the same, from both ends
}

func (w *world) line(t *testing.T) *line {
	t.Helper()
	l := &line{world: w, t: t, ctx: within(t), name: redistest.Name(t), client: w.client(t, answersMayTakeLong)}
	l.mine = queue.New[string](l.client, l.name, queue.WithCodec(codec.Text))
	l.theirs = w.java.Queue("blockingqueue", l.name, l.name, "String")
	l.deque = w.java.Queue("blockingdeque", l.name, l.name, "String")
	t.Cleanup(func() { // it has no end of its own
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		w.del(ctx, t, l.name)
		w.del(ctx, t, "redisson_bqs:{"+l.name+"}")
	})
	return l
}

// holds is what both sides, and the server, have.
func (l *line) holds(want ...string) {
	l.t.Helper()
	there, err := l.redis.Do(l.ctx, l.redis.B().Lrange().Key(l.name).Start(0).Stop(-1).Build()).AsStrSlice()
	require.NoError(l.t, err)
	require.Equal(l.t, want, append([]string(nil), there...))
	var mine []string
	for v, err := range l.mine.Values(l.ctx) {
		require.NoError(l.t, err)
		mine = append(mine, v)
	}
	require.Equal(l.t, want, mine)
	all, err := l.theirs.ReadAll(l.ctx)
	require.NoError(l.t, err)
	var theirs []string
	for _, d := range all {
		theirs = append(theirs, d.Text)
	}
	require.Equal(l.t, want, theirs)
}

func (l *line) java(want string, ask func(context.Context) (peer.Datum, error)) {
	l.t.Helper()
	got, err := ask(l.ctx)
	require.NoError(l.t, err)
	if want == "" {
		require.True(l.t, got.IsNull(), got)
		return
	}
	require.Equal(l.t, peer.String(want), got)
}

func (l *line) gives(want string, ask func(context.Context) (string, error)) {
	l.t.Helper()
	got, err := ask(l.ctx)
	require.NoError(l.t, err)
	require.Equal(l.t, want, got)
}

func goUsesAQueue(t *testing.T, w *world) {
	l := w.line(t)
	for _, kind := range []string{"queue", "deque", "blockingqueue", "blockingdeque"} {
		theirs := w.java.Queue(kind, l.name, l.name, "String")
		n, err := l.mine.Offer(l.ctx, "b", "c", "é\n")
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		_, err = l.mine.OfferFirst(l.ctx, "a")
		require.NoError(t, err)
		l.holds("a", "b", "c", "é\n")
		l.java("a", theirs.Peek)
		l.java("a", theirs.Poll)
		l.gives("b", l.mine.Poll)
		l.java("c", theirs.Poll)
		l.gives("é\n", l.mine.PollLast)
		l.java("", theirs.Poll)
		n, err = theirs.Size(l.ctx)
		require.NoError(t, err)
		require.Zero(t, n)
	}
	_, err := l.mine.Offer(l.ctx, "a", "b", "a")
	require.NoError(t, err)
	l.gives("a", func(ctx context.Context) (string, error) { return l.mine.MoveTo(ctx, l.mine) })
	l.holds("b", "a", "a")
	n, err := l.mine.Remove(l.ctx, "a", 0)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	l.java("b", l.deque.PeekLast)
	l.java("b", l.deque.PollLast)
	_, err = l.mine.Offer(l.ctx, "x")
	require.NoError(t, err)
	requireTruth(l.ctx, t, true, l.theirs.Delete)
	there, err := l.mine.Exists(l.ctx)
	require.NoError(t, err)
	require.False(t, there)
}

func javaUsesAQueue(t *testing.T, w *world) {
	l := w.line(t)
	for _, v := range []string{"b", "c", "é\n"} {
		requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return l.theirs.Add(ctx, peer.String(v)) })
	}
	require.NoError(t, l.deque.AddFirst(l.ctx, peer.String("a")))
	l.holds("a", "b", "c", "é\n")
	l.gives("a", l.mine.Peek)
	l.gives("é\n", l.mine.PeekLast)
	some, err := l.mine.PollN(l.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, some)
	l.java("é\n", l.deque.PollLast)
	l.gives("c", l.mine.PollLast)
	_, err = l.mine.Poll(l.ctx)
	require.ErrorIs(t, err, queue.ErrEmpty)
	for _, v := range []string{"a", "b", "a"} {
		require.NoError(t, l.theirs.Put(l.ctx, peer.String(v)))
	}
	requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) {
		return l.deque.RemoveLastOccurrence(ctx, peer.String("a"))
	})
	l.holds("a", "b")
	_, err = l.mine.Offer(l.ctx, "c")
	require.NoError(t, err)
	all, err := l.theirs.DrainTo(l.ctx)
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{peer.String("a"), peer.String("b"), peer.String("c")}, all)
	l.java("", func(ctx context.Context) (peer.Datum, error) { return l.theirs.PollFor(ctx, time.Second) })
}

func goOffersToJava(t *testing.T, w *world) {
	l := w.line(t)
	l.goWakes(l.theirs.Take)
}

func goOffersToJavasTail(t *testing.T, w *world) {
	l := w.line(t)
	l.goWakes(l.deque.TakeLast)
}

// goWakes a take of Java.
func (l *line) goWakes(take func(context.Context) (peer.Datum, error)) {
	l.t.Helper()
	result := make(chan peer.Datum, 1)
	go func() {
		got, err := take(l.ctx)
		assert.NoError(l.t, err)
		result <- got
	}()
	time.Sleep(20 * time.Millisecond) // it blocks by then, as a rule
	_, err := l.mine.Offer(l.ctx, "a")
	require.NoError(l.t, err)
	require.Equal(l.t, peer.String("a"), <-result)
	l.holds()
}

func javaOffersToGo(t *testing.T, w *world) {
	l := w.line(t)
	l.javaWakes(l.mine.Take)
}

func javaOffersToGosTail(t *testing.T, w *world) {
	l := w.line(t)
	l.javaWakes(l.mine.TakeLast)
}

// javaWakes a take of Go.
func (l *line) javaWakes(take func(context.Context) (string, error)) {
	l.t.Helper()
	result := make(chan string, 1)
	go func() {
		got, err := take(l.ctx)
		assert.NoError(l.t, err)
		result <- got
	}()
	time.Sleep(20 * time.Millisecond) // it blocks by then, as a rule
	require.NoError(l.t, l.theirs.Put(l.ctx, peer.String("a")))
	require.Equal(l.t, "a", <-result)
	l.holds()
}

// parcel is rueidisson.interop.Person, as far as it is used here.
type parcel struct {
	Age  int    `json:"age" msgpack:"age"`
	Name string `json:"name" msgpack:"name"`
}

// queuesOfAnyCodec hold what the other side has written.
func queuesOfAnyCodec(t *testing.T, w *world) {
	l := w.line(t)
	for _, c := range []struct {
		theirs string
		family codec.Family
	}{{"TypedJson:java.lang.String", codec.JSON}, {"MsgPackJackson", codec.Msgpack}, {"Kryo5", codec.Kryo5}} {
		mine := queue.New[string](l.client, l.name, queue.WithCodec(c.family))
		theirs := w.java.Queue("blockingqueue", l.name, l.name, c.theirs)
		for _, text := range []string{"a", "<&>é🙂\n", ""} {
			_, err := mine.Offer(l.ctx, text)
			require.NoError(t, err)
			l.javaTakes(text, theirs.Take)
			require.NoError(t, theirs.Put(l.ctx, peer.String(text)))
			l.gives(text, mine.Take)
			_, err = mine.Offer(l.ctx, text, text)
			require.NoError(t, err)
			requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.Remove(ctx, peer.String(text)) })
			n, err := mine.Remove(l.ctx, text, 0)
			require.NoError(t, err)
			require.EqualValues(t, 1, n, "by its bytes")
		}
	}
	mine := queue.New[parcel](l.client, l.name, queue.WithCodec(codec.JSON))
	theirs := w.java.Queue("queue", l.name, l.name, "TypedJson:rueidisson.interop.Person")
	_, err := mine.Offer(l.ctx, parcel{3, "bob"})
	require.NoError(t, err)
	got, err := theirs.Poll(l.ctx)
	require.NoError(t, err)
	require.Equal(t, "Person", got.Class)
	requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.Add(ctx, got) })
	back, err := mine.Poll(l.ctx)
	require.NoError(t, err)
	require.Equal(t, parcel{3, "bob"}, back)
}

// javaTakes what may be empty.
func (l *line) javaTakes(want string, ask func(context.Context) (peer.Datum, error)) {
	l.t.Helper()
	got, err := ask(l.ctx)
	require.NoError(l.t, err)
	require.Equal(l.t, peer.String(want), got)
}

// bothTake from one queue what both put into it: each element comes once.
func bothTake(t *testing.T, w *world) {
	l := w.line(t)
	each := redistest.Count(t, 500, 10_000)
	var all sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	note := func(v string) {
		mu.Lock()
		defer mu.Unlock()
		got[v]++
	}
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	for range 4 {
		all.Go(func() {
			for v, err := range l.mine.Consume(ctx) {
				if err == nil {
					note(v)
				}
			}
		})
	}
	all.Go(func() {
		theirs, err := w.java.Queue("blockingqueue", l.name+" taker", l.name, "String").TakeMany(l.ctx, 2*each, time.Second)
		assert.NoError(t, err)
		for _, d := range theirs {
			note(d.Text)
		}
	})
	all.Go(func() { assert.NoError(t, l.theirs.PutMany(l.ctx, "java ", each)) })
	for i := range each {
		_, err := l.mine.Offer(l.ctx, "go "+strconv.Itoa(i))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(got) >= each }, patience, time.Millisecond)
	redistest.Eventually(t, func() bool { n, err := l.mine.Len(l.ctx); return err == nil && n == 0 }, patience, time.Millisecond)
	time.AfterFunc(2*time.Second, cancel) // Java's taker ends by itself
	all.Wait()
	require.Len(t, got, 2*each)
	for v, n := range got {
		require.Equal(t, 1, n, v)
	}
}

// bounded is the same line as a bounded queue.
func (l *line) bounded() (*queue.Bounded[string], peer.Queue) {
	return queue.NewBounded[string](l.client, l.name, queue.WithCodec(codec.Text)), l.world.java.Queue("boundedqueue", l.name, l.name, "String")
}

// room is what both sides say.
func (l *line) room(want int64) {
	l.t.Helper()
	mine, theirs := l.bounded()
	n, err := mine.Free(l.ctx)
	require.NoError(l.t, err)
	require.Equal(l.t, want, n)
	n, err = theirs.RemainingCapacity(l.ctx)
	require.NoError(l.t, err)
	require.Equal(l.t, want, n)
}

func goUsesABoundedQueue(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.bounded()
	did, err := mine.TrySetCapacity(l.ctx, 3)
	require.NoError(t, err)
	require.True(t, did)
	requireTruth(l.ctx, t, false, func(ctx context.Context) (bool, error) { return theirs.TrySetCapacity(ctx, 9) })
	l.room(3)
	_, err = mine.Offer(l.ctx, "a", "b", "b")
	require.NoError(t, err)
	l.holds("a", "b", "b")
	l.room(0)
	requireTruth(l.ctx, t, false, func(ctx context.Context) (bool, error) { return theirs.Offer(ctx, peer.String("c")) })
	n, err := mine.Remove(l.ctx, "b", 0)
	require.NoError(t, err)
	require.EqualValues(t, 2, n, "where Java loses both slots")
	l.room(2)
	requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.Offer(ctx, peer.String("c")) })
	l.java("a", theirs.Poll)
	l.gives("c", mine.Poll)
	l.room(3)
	_, err = mine.Offer(l.ctx, "d", "e")
	require.NoError(t, err)
	l.java("d", theirs.Take)
	l.gives("e", mine.Take)
	l.room(3)
	require.NoError(t, mine.Reconcile(l.ctx, 5))
	l.room(5)
}

func javaUsesABoundedQueue(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.bounded()
	requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.TrySetCapacity(ctx, 2) })
	did, err := mine.TrySetCapacity(l.ctx, 9)
	require.NoError(t, err)
	require.False(t, did)
	require.NoError(t, theirs.Put(l.ctx, peer.String("a")))
	require.NoError(t, theirs.Put(l.ctx, peer.String("b")))
	l.room(0)
	_, err = mine.TryOffer(l.ctx, "c")
	require.ErrorIs(t, err, queue.ErrFull)
	l.gives("a", mine.Take)
	l.room(1)
	all, err := theirs.DrainTo(l.ctx)
	require.NoError(t, err)
	require.Equal(t, []peer.Datum{peer.String("b")}, all)
	l.room(2)
	require.NoError(t, theirs.Put(l.ctx, peer.String("d")))
	requireTruth(l.ctx, t, true, theirs.Delete)
	_, err = mine.Free(l.ctx)
	require.ErrorIs(t, err, queue.ErrNoCapacity)
}

// goMakesRoom for Java's put, which waits; on a cluster that listens to sharded
// channels.
func goMakesRoom(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.bounded()
	for name, free := range map[string]func(ctx context.Context) error{
		"poll":      func(ctx context.Context) error { _, err := mine.Poll(ctx); return err },
		"take":      func(ctx context.Context) error { _, err := mine.Take(ctx); return err },
		"remove":    func(ctx context.Context) error { _, err := mine.Remove(ctx, "full", 1); return err },
		"drain":     func(ctx context.Context) error { _, err := mine.Drain(ctx); return err },
		"reconcile": func(ctx context.Context) error { return mine.Reconcile(ctx, 2) },
	} {
		_, err := mine.Drain(l.ctx)
		require.NoError(t, err)
		require.NoError(t, mine.Reconcile(l.ctx, 1))
		_, err = mine.Offer(l.ctx, "full")
		require.NoError(t, err)
		result := make(chan error, 1)
		go func() { result <- theirs.Put(l.ctx, peer.String("put")) }()
		l.someoneListens()
		require.NoError(t, free(l.ctx), name)
		require.NoError(t, <-result, name)
	}
}

// someoneListens for room, by the channel that fits.
func (l *line) someoneListens() {
	l.t.Helper()
	words := []string{"PUBSUB", "NUMSUB"}
	if l.spublish() {
		words[1] = "SHARDNUMSUB"
	}
	channel := "redisson_sc:redisson_bqs:{" + l.name + "}"
	redistest.Eventually(l.t, func() bool {
		for _, node := range l.redis.Nodes() {
			reply, err := node.Do(l.ctx, node.B().Arbitrary(append(words, channel)...).Build()).ToArray()
			if n, bad := last(reply, err); bad == nil && n > 0 {
				return true
			}
		}
		return false
	}, patience, time.Millisecond)
}

func last(reply []rueidis.RedisMessage, err error) (int64, error) {
	if err != nil || len(reply) == 0 {
		return 0, err
	}
	return reply[len(reply)-1].AsInt64()
}

// javaMakesRoom for an offer of Go that waits: by its poll, which on a cluster
// tells plain listeners only, and by its take.
func javaMakesRoom(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.bounded()
	did, err := mine.TrySetCapacity(l.ctx, 1)
	require.NoError(t, err)
	require.True(t, did)
	for name, free := range map[string]func(context.Context) (peer.Datum, error){"poll": theirs.Poll, "take": theirs.Take} {
		_, err = mine.Offer(l.ctx, "full")
		require.NoError(t, err)
		result := make(chan error, 1)
		go func() {
			_, err := mine.Offer(l.ctx, "offered")
			result <- err
		}()
		l.someoneListens()
		l.java("full", free)
		require.NoError(t, <-result, name)
		l.gives("offered", mine.Poll)
	}
}

// bothTakeInTurn from a bounded queue, and one taker is killed in between: the
// capacity is never exceeded, and Reconcile brings back what is lost.
func bothTakeInTurn(t *testing.T, w *world) {
	l := w.line(t)
	mine, _ := l.bounded()
	const capacity = 4
	elements := redistest.Count(t, 400, 10_000)
	did, err := mine.TrySetCapacity(l.ctx, capacity)
	require.NoError(t, err)
	require.True(t, did)
	var over atomic.Int64
	watching, stop := context.WithCancel(l.ctx)
	var all, watcher sync.WaitGroup
	watcher.Go(func() {
		for watching.Err() == nil {
			if n, err := mine.Len(watching); err == nil && n > capacity {
				over.Store(n)
			}
		}
	})
	var mu sync.Mutex
	got := map[string]int{}
	note := func(v string) { mu.Lock(); defer mu.Unlock(); got[v]++ }
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	all.Go(func() {
		for v, err := range mine.Consume(ctx) {
			if err == nil {
				note(v)
			}
		}
	})
	all.Go(func() {
		theirs, err := w.java.Queue("boundedqueue", l.name+" taker", l.name, "String").TakeMany(l.ctx, 2*elements, 2*time.Second)
		assert.NoError(t, err)
		for _, d := range theirs {
			note(d.Text)
		}
	})
	doomed := peer.Start(t, w.jvm)
	all.Go(func() {
		_, _ = doomed.Queue("boundedqueue", "doomed", l.name, "String").TakeMany(l.ctx, 2*elements, time.Minute)
	})
	all.Go(func() {
		assert.NoError(t, w.second.Queue("boundedqueue", l.name, l.name, "String").PutMany(l.ctx, "java ", elements))
	})
	for i := range elements {
		size, err := mine.Offer(l.ctx, "go "+strconv.Itoa(i))
		require.NoError(t, err)
		require.LessOrEqual(t, size, int64(capacity))
		if i == elements/2 {
			doomed.Kill()
			// What a taker does that dies before it has released its slot.
			require.NoError(t, l.redis.Do(l.ctx, l.redis.B().Blpop().Key(l.name).Timeout(60).Build()).Error())
		}
	}
	time.AfterFunc(5*time.Second, cancel) // Java's taker ends by itself when nothing comes
	all.Wait()
	stop()
	watcher.Wait()
	require.Zero(t, over.Load(), "elements, of %d", capacity)
	for v, n := range got {
		require.Equal(t, 1, n, v)
	}
	free, err := mine.Free(l.ctx)
	require.NoError(t, err)
	require.Less(t, free, int64(capacity), "a slot is lost")
	_, err = mine.Drain(l.ctx)
	require.NoError(t, err)
	require.NoError(t, mine.Reconcile(l.ctx, capacity))
	l.room(capacity)
}
