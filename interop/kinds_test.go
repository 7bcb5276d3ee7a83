//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/stream"
)

var kindProofs = []proof{
	{row: "ring_buffer/operations/go-java", test: goUsesARingBuffer},
	{row: "ring_buffer/operations/java-go", test: javaUsesARingBuffer},
	{row: "priority_queue/operations/go-java", test: goUsesAPriorityQueue},
	{row: "priority_queue/operations/java-go", test: javaUsesAPriorityQueue},
	{row: "priority_queue/take/go-java", test: goRanksForJava},
	{row: "priority_queue/take/java-go", test: javaRanksForGo},
	{row: "priority_queue/codecs/both", test: priorityQueuesOfAnyCodec},
	{row: "stream/operations/go-java", test: goUsesAStream},
	{row: "stream/operations/java-go", test: javaUsesAStream},
	{row: "stream/shared_group/both", test: bothConsume},
	{row: "stream/codecs/both", test: streamsOfAnyCodec},
}

// ring is a ring buffer of texts as both sides see it.
func (l *line) ring() (*queue.Ring[string], peer.RingBuffer) {
	l.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		l.del(ctx, l.t, "redisson_rb:{"+l.name+"}")
	})
	return queue.NewRing[string](l.client, l.name, queue.WithCodec(codec.Text)), l.world.java.RingBuffer(l.name, l.name, "String")
}

func goUsesARingBuffer(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.ring()
	_, err := theirs.Add(l.ctx, peer.String("a"))
	require.Error(t, err, "there is no capacity")
	did, err := mine.TrySetCapacity(l.ctx, 3)
	require.NoError(t, err)
	require.True(t, did)
	requireTruth(l.ctx, t, false, func(ctx context.Context) (bool, error) { return theirs.TrySetCapacity(ctx, 9) })
	n, err := theirs.Capacity(l.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	_, err = mine.Offer(l.ctx, "a", "b", "c", "d")
	require.NoError(t, err)
	l.holds("b", "c", "d")
	n, err = theirs.RemainingCapacity(l.ctx)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, mine.SetCapacity(l.ctx, 2))
	l.holds("c", "d")
	l.java("c", theirs.Poll)
	l.gives("d", mine.Poll)
}

func javaUsesARingBuffer(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.ring()
	_, err := mine.Offer(l.ctx, "a")
	require.ErrorIs(t, err, queue.ErrNoCapacity)
	requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.TrySetCapacity(ctx, 3) })
	for _, text := range []string{"a", "b", "c", "d"} {
		requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.Add(ctx, peer.String(text)) })
	}
	l.holds("b", "c", "d")
	n, err := mine.Offer(l.ctx, "e")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	some, err := mine.Newest(l.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"d", "e"}, some)
	require.NoError(t, theirs.SetCapacity(l.ctx, 1))
	l.holds("e")
	n, err = mine.Capacity(l.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	did, err := theirs.Delete(l.ctx)
	require.NoError(t, err)
	require.True(t, did)
	_, err = mine.Capacity(l.ctx)
	require.ErrorIs(t, err, queue.ErrNoCapacity)
}

// ranks is a priority queue of texts as both sides see it.
func (l *line) ranks() (*queue.Priority[string], peer.ScoredSet) {
	return queue.NewPriority[string](l.client, l.name, queue.WithCodec(codec.Text)), l.world.java.ScoredSet(l.name, l.name, "String")
}

// ranked is what both sides have.
func (l *line) ranked(mine *queue.Priority[string], theirs peer.ScoredSet, want ...queue.Scored[string]) {
	l.t.Helper()
	var all []queue.Scored[string]
	for v, err := range mine.Values(l.ctx) {
		require.NoError(l.t, err)
		all = append(all, v)
	}
	require.Equal(l.t, want, all)
	data, err := theirs.ReadAll(l.ctx)
	require.NoError(l.t, err)
	require.Len(l.t, data, len(want))
	for i, d := range data {
		require.Equal(l.t, peer.String(want[i].Value), d)
	}
}

func goUsesAPriorityQueue(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.ranks()
	n, err := mine.OfferAll(l.ctx, queue.Scored[string]{Value: "c", Score: 3}, queue.Scored[string]{Value: "a", Score: -1.5}, queue.Scored[string]{Value: "é\n", Score: 1e18})
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	_, err = mine.Offer(l.ctx, "c", 0.1)
	require.NoError(t, err)
	l.ranked(mine, theirs, queue.Scored[string]{Value: "a", Score: -1.5}, queue.Scored[string]{Value: "c", Score: 0.1}, queue.Scored[string]{Value: "é\n", Score: 1e18})
	score, err := theirs.Score(l.ctx, peer.String("c"))
	require.NoError(t, err)
	require.Equal(t, "0.1", score)
	l.java("a", theirs.PollFirst)
	l.java("é\n", theirs.PollLast)
	gone, err := mine.Remove(l.ctx, "c")
	require.NoError(t, err)
	require.EqualValues(t, 1, gone)
	l.java("", theirs.PollFirst)
}

func javaUsesAPriorityQueue(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.ranks()
	for text, score := range map[string]float64{"a": -2.25, "b": 7, "c": 9007199254740991} {
		requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.Add(ctx, score, peer.String(text)) })
	}
	requireTruth(l.ctx, t, false, func(ctx context.Context) (bool, error) { return theirs.Add(ctx, 8, peer.String("b")) })
	l.ranked(mine, theirs, queue.Scored[string]{Value: "a", Score: -2.25}, queue.Scored[string]{Value: "b", Score: 8}, queue.Scored[string]{Value: "c", Score: 9007199254740991})
	added, err := mine.OfferIfAbsent(l.ctx, "b", 1)
	require.NoError(t, err)
	require.False(t, added)
	requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.Remove(ctx, peer.String("b")) })
	first, err := mine.Poll(l.ctx)
	require.NoError(t, err)
	require.Equal(t, queue.Scored[string]{Value: "a", Score: -2.25}, first)
	last, err := mine.PollLast(l.ctx)
	require.NoError(t, err)
	require.Equal(t, queue.Scored[string]{Value: "c", Score: 9007199254740991}, last)
}

func goRanksForJava(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.ranks()
	for _, take := range []func(context.Context) (peer.Datum, error){theirs.TakeFirst, theirs.TakeLast} {
		result := make(chan peer.Datum, 1)
		go func() {
			got, err := take(l.ctx)
			assert.NoError(t, err)
			result <- got
		}()
		time.Sleep(20 * time.Millisecond) // it blocks by then, as a rule
		_, err := mine.Offer(l.ctx, "a", 1)
		require.NoError(t, err)
		require.Equal(t, peer.String("a"), <-result)
	}
}

func javaRanksForGo(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.ranks()
	for _, take := range []func(context.Context) (queue.Scored[string], error){mine.Take, mine.TakeLast} {
		result := make(chan queue.Scored[string], 1)
		go func() {
			got, err := take(l.ctx)
			assert.NoError(t, err)
			result <- got
		}()
		time.Sleep(20 * time.Millisecond) // it blocks by then, as a rule
		requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.Add(ctx, 2.5, peer.String("a")) })
		require.Equal(t, queue.Scored[string]{Value: "a", Score: 2.5}, <-result)
	}
}

func priorityQueuesOfAnyCodec(t *testing.T, w *world) {
	l := w.line(t)
	for _, c := range []struct {
		theirs string
		family codec.Family
	}{{"TypedJson:java.lang.String", codec.JSON}, {"MsgPackJackson", codec.Msgpack}, {"Kryo5", codec.Kryo5}} {
		mine := queue.NewPriority[string](l.client, l.name, queue.WithCodec(c.family))
		theirs := w.java.ScoredSet(l.name, l.name, c.theirs)
		for _, text := range []string{"a", "<&>é🙂\n", ""} {
			_, err := mine.Offer(l.ctx, text, 1)
			require.NoError(t, err)
			requireTruth(l.ctx, t, false, func(ctx context.Context) (bool, error) { return theirs.Add(ctx, 2, peer.String(text)) })
			l.javaTakes(text, theirs.PollFirst)
			requireTruth(l.ctx, t, true, func(ctx context.Context) (bool, error) { return theirs.Add(ctx, 3, peer.String(text)) })
			added, err := mine.Offer(l.ctx, text, 4)
			require.NoError(t, err)
			require.False(t, added, "it is the same by its bytes")
			got, err := mine.Poll(l.ctx)
			require.NoError(t, err)
			require.Equal(t, queue.Scored[string]{Value: text, Score: 4}, got)
		}
	}
}

// log is a stream of texts as both sides see it.
func (l *line) log() (*stream.Stream[string, string], peer.Stream) {
	return stream.New[string, string](l.client, l.name, stream.WithCodec(codec.Text)), l.world.java.Stream(l.name, l.name, "String")
}

// fieldsOf is what Java has read.
func fieldsOf(t *testing.T, e peer.StreamEntry) (fields map[string]string) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(e.Fields.Text), &fields))
	return fields
}

func goUsesAStream(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.log()
	group := mine.Group("g")
	made, err := group.Create(l.ctx, stream.FromStart)
	require.NoError(t, err)
	require.True(t, made)
	want := map[string]string{"a": "1", "é\n": ""}
	id, err := mine.Add(l.ctx, want)
	require.NoError(t, err)
	all, err := theirs.Range(l.ctx)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, id, all[0].ID)
	require.Equal(t, want, fieldsOf(t, all[0]))
	got, err := theirs.ReadGroup(l.ctx, "g", "java", 10, time.Second)
	require.NoError(t, err)
	require.Equal(t, all, got)
	for e, err := range group.Consume(l.ctx, "go", stream.WithIdle(50*time.Millisecond)) { // which Java has left
		require.NoError(t, err)
		require.Equal(t, id, e.ID)
		require.Equal(t, want, e.Fields)
		break
	}
	n, err := theirs.Ack(l.ctx, "g", id)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	for p, err := range group.Pending(l.ctx) {
		require.NoError(t, err)
		t.Fatal(p)
	}
}

func javaUsesAStream(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.log()
	require.NoError(t, theirs.CreateGroup(l.ctx, "g"))
	group := mine.Group("g")
	made, err := group.Create(l.ctx, stream.FromNow)
	require.NoError(t, err)
	require.False(t, made)
	result := make(chan stream.Entry[string, string], 1)
	go func() {
		for e, err := range group.Consume(l.ctx, "go") {
			assert.NoError(t, err)
			result <- e
			return
		}
	}()
	time.Sleep(20 * time.Millisecond) // it blocks by then, as a rule
	id, err := theirs.Add(l.ctx, peer.String("a"), peer.String("1"), peer.String("b"), peer.String("é\n"))
	require.NoError(t, err)
	e := <-result
	require.Equal(t, stream.Entry[string, string]{ID: id, Fields: map[string]string{"a": "1", "b": "é\n"}}, e)
	time.Sleep(60 * time.Millisecond)
	left, err := theirs.AutoClaim(l.ctx, "g", "java", 50*time.Millisecond)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, id, left[0].ID)
	n, err := group.Ack(l.ctx, id)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

// bothConsume from one group what both add: each entry comes to one of them.
func bothConsume(t *testing.T, w *world) {
	l := w.line(t)
	mine, theirs := l.log()
	require.NoError(t, theirs.CreateGroup(l.ctx, "g"))
	const each = 100
	go func() {
		for i := range each {
			_, err := mine.Add(l.ctx, map[string]string{"go": string(rune('a' + i%26))})
			assert.NoError(t, err)
		}
	}()
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	done := make(chan []string)
	go func() {
		var ids []string
		for e, err := range mine.Group("g").Consume(ctx, "go", stream.WithBatch(1)) {
			if err != nil {
				assert.ErrorIs(t, err, context.Canceled)
				break
			}
			ids = append(ids, e.ID)
			_, err := mine.Group("g").Ack(l.ctx, e.ID)
			assert.NoError(t, err)
		}
		done <- ids
	}()
	got := map[string]int{}
	for i := range each {
		_, err := theirs.Add(l.ctx, peer.String("java"), peer.String("x"))
		require.NoError(t, err)
		if i%4 == 0 {
			some, err := theirs.ReadGroup(l.ctx, "g", "java", 2, 10*time.Millisecond)
			require.NoError(t, err)
			for _, e := range some {
				got[e.ID]++
				_, err := theirs.Ack(l.ctx, "g", e.ID)
				require.NoError(t, err)
			}
		}
	}
	require.Eventually(t, func() bool {
		n, err := mine.Len(l.ctx)
		pending := 0
		for range mine.Group("g").Pending(l.ctx) {
			pending++
		}
		return err == nil && n == 2*each && pending == 0
	}, patience, 20*time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	cancel()
	for _, id := range <-done {
		got[id]++
	}
	require.Len(t, got, 2*each)
	for id, n := range got {
		require.Equal(t, 1, n, id)
	}
}

func streamsOfAnyCodec(t *testing.T, w *world) {
	l := w.line(t)
	for _, c := range []struct {
		theirs string
		family codec.Family
	}{{"TypedJson:java.lang.String/java.lang.String", codec.JSON}, {"MsgPackJackson", codec.Msgpack}, {"Kryo5", codec.Kryo5}} {
		mine := stream.New[string, string](l.client, l.name, stream.WithCodecs(c.family, c.family))
		theirs := w.java.Stream(l.name, l.name, c.theirs)
		want := map[string]string{"a": "1", "<&>é🙂\n": "<&>é🙂\n"}
		_, err := mine.Add(l.ctx, want)
		require.NoError(t, err)
		_, err = theirs.Add(l.ctx, peer.String("a"), peer.String("1"), peer.String("<&>é🙂\n"), peer.String("<&>é🙂\n"))
		require.NoError(t, err)
		all, err := theirs.Range(l.ctx)
		require.NoError(t, err)
		require.Len(t, all, 2)
		for _, e := range all {
			require.Equal(t, want, fieldsOf(t, e))
		}
		n := 0
		for e, err := range mine.Range(l.ctx, "", "") {
			require.NoError(t, err)
			require.Equal(t, want, e.Fields)
			n++
		}
		require.Equal(t, 2, n)
		_, err = mine.Delete(l.ctx)
		require.NoError(t, err)
	}
}
