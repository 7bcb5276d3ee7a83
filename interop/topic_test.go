//go:build interop

package interop

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/topic"
)

var topicProofs = []proof{
	{row: "topic/messages/go-java", test: onTopics("topic", goPublishes)},
	{row: "topic/messages/java-go", test: onTopics("topic", javaPublishes)},
	{row: "sharded_topic/messages/go-java", test: onTopics("shardedtopic", goPublishes)},
	{row: "sharded_topic/messages/java-go", test: onTopics("shardedtopic", javaPublishes)},
	{row: "pattern_topic/messages/go-java", test: javaHearsAPattern},
	{row: "pattern_topic/messages/java-go", test: goHearsAPattern},
	{row: "reliable_topic/messages/both", test: bothSubscribeReliably},
	{row: "reliable_topic/who_comes_later/both", test: bothComeLater},
	{row: "reliable_topic/durable_name/both", test: aDurableNameBesideJava},
	{row: "reliable_topic/java_cleans_up/java-go", test: javaCleansUp},
}

var topicEssentials = []proof{
	{row: "topic/messages/go-java", test: onTopics("topic", goPublishes)},
	{row: "topic/messages/java-go", test: onTopics("topic", javaPublishes)},
	{row: "reliable_topic/messages/both", test: bothSubscribeReliably},
}

// written is a codec as both sides call it.
type written struct {
	mine   codec.Family
	theirs string
}

var (
	inText    = written{codec.Text, "String"}
	writtenBy = []written{inText, {codec.JSON, "TypedJson:java.lang.String"}, {codec.Msgpack, "MsgPackJackson"}, {codec.Kryo5, "Kryo5"}}
)

// talk is a topic as both sides see it.
type talk struct {
	ctx     context.Context
	publish func(v string) (int64, error)
	listen  func() (iter.Seq2[string, error], func())
	theirs  peer.Topic
}

func onTopics(kind string, test func(t *testing.T, k talk)) func(t *testing.T, w *world) {
	return func(t *testing.T, w *world) {
		for _, c := range writtenBy {
			test(t, w.talk(t, kind, redistest.Name(t), c))
		}
	}
}

func (w *world) talk(t *testing.T, kind, name string, by written) talk {
	t.Helper()
	client := w.client(t, answersMayTakeLong)
	k := talk{ctx: within(t), theirs: w.java.Topic(kind, name, name, by.theirs)}
	plain := topic.New[string](client, name, topic.WithCodec(by.mine))
	listen := plain.Listen
	k.publish = func(v string) (int64, error) { return plain.Publish(k.ctx, v) }
	if kind == "shardedtopic" {
		sharded := topic.NewSharded[string](client, name, topic.WithCodec(by.mine))
		listen = sharded.Listen
		k.publish = func(v string) (int64, error) { return sharded.Publish(k.ctx, v) }
	}
	k.listen = func() (iter.Seq2[string, error], func()) {
		s, err := listen(k.ctx)
		require.NoError(t, err)
		return s.Messages(k.ctx), s.Close
	}
	return k
}

var texts = []string{"a", "", "é\n🙂", "a longer one, that is more than a few bytes"}

func (k talk) javaHears(t *testing.T, channel, text string) {
	t.Helper()
	at, message, err := k.theirs.Hears(k.ctx, patience)
	require.NoError(t, err)
	require.Equal(t, channel, at)
	require.Equal(t, str(text), message)
}

func goPublishes(t *testing.T, k talk) {
	require.NoError(t, k.theirs.Listen(k.ctx))
	for _, text := range texts {
		n, err := k.publish(text)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		k.javaHears(t, k.theirs.Name(), text)
	}
	require.NoError(t, k.theirs.Unlisten(k.ctx))
}

func javaPublishes(t *testing.T, k talk) {
	messages, end := k.listen()
	defer end()
	n, err := k.theirs.CountSubscribers(k.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	for _, text := range texts {
		n, err := k.theirs.Publish(k.ctx, str(text))
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		hears(t, messages, text)
	}
}

// hears reads messages, and nothing but these.
func hears(t *testing.T, messages iter.Seq2[string, error], want ...string) {
	t.Helper()
	n := 0
	for v, err := range messages {
		require.NoError(t, err)
		require.Equal(t, want[n], v)
		if n++; n == len(want) {
			return
		}
	}
}

func javaHearsAPattern(t *testing.T, w *world) {
	name := redistest.Name(t)
	k := w.talk(t, "topic", name+":1", inText)
	k.theirs = w.java.Topic("patterntopic", name, name+":*", "String")
	require.NoError(t, k.theirs.Listen(k.ctx))
	_, err := k.publish("a")
	require.NoError(t, err)
	k.javaHears(t, name+":1", "a")
	require.NoError(t, k.theirs.Unlisten(k.ctx))
}

func goHearsAPattern(t *testing.T, w *world) {
	name, ctx := redistest.Name(t), within(t)
	s, err := topic.NewPattern[string](w.client(t, answersMayTakeLong), name+":*", topic.WithCodec(codec.Text)).Listen(ctx)
	require.NoError(t, err)
	defer s.Close()
	_, err = w.java.Topic("topic", name, name+":1", "String").Publish(ctx, str("a"))
	require.NoError(t, err)
	for m, err := range s.Messages(ctx) {
		require.NoError(t, err)
		require.Equal(t, topic.Message[string]{Channel: name + ":1", Value: "a"}, m)
		break
	}
}

// reliableTalk is a reliable topic as both sides see it.
type reliableTalk struct {
	*world
	t      *testing.T
	ctx    context.Context
	client *rueidisson.Client
	by     written
	mine   *topic.Reliable[string]
	theirs peer.Topic
}

func (w *world) reliably(t *testing.T, by written) *reliableTalk {
	t.Helper()
	name := redistest.Name(t)
	k := &reliableTalk{world: w, t: t, ctx: within(t), client: w.client(t, answersMayTakeLong), by: by}
	k.theirs = w.java.Topic("reliabletopic", name, name, by.theirs)
	k.mine = k.on(k.client)
	t.Cleanup(func() { // streams have no end of their own
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, k.theirs.Unlisten(ctx))
		w.del(ctx, t, name)
		w.del(ctx, t, "{"+name+"}:timeout")
	})
	return k
}

// on is the same topic of a client.
func (k *reliableTalk) on(c *rueidisson.Client) *topic.Reliable[string] {
	return topic.NewReliable[string](c, k.theirs.Name(), topic.WithCodec(k.by.mine), topic.WithMaxLength(1000))
}

func (k *reliableTalk) goPublishes(groups int64, texts ...string) {
	k.t.Helper()
	for _, text := range texts {
		n, err := k.mine.Publish(k.ctx, text)
		require.NoError(k.t, err)
		require.Equal(k.t, groups, n)
	}
}

func (k *reliableTalk) javaPublishes(groups int64, texts ...string) {
	k.t.Helper()
	for _, text := range texts {
		n, err := k.theirs.Publish(k.ctx, str(text))
		require.NoError(k.t, err)
		require.Equal(k.t, groups, n)
	}
}

func (k *reliableTalk) javaHandles(want ...string) {
	k.t.Helper()
	for _, text := range want {
		_, message, err := k.theirs.Hears(k.ctx, patience)
		require.NoError(k.t, err)
		require.Equal(k.t, str(text), message)
	}
}

// goHandles messages to their end.
func (k *reliableTalk) goHandles(s *topic.ReliableSubscription[string], want ...string) {
	k.t.Helper()
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	n := 0
	for v, err := range s.Messages(ctx) {
		if n == len(want) {
			break
		}
		require.NoError(k.t, err)
		require.Equal(k.t, want[n], v)
		if n++; n == len(want) {
			cancel() // the loop asks for the next, and is over
		}
	}
}

// group is what the server knows of one of the groups.
type group struct{ pending, lag int64 }

func (k *reliableTalk) groups() map[string]group {
	k.t.Helper()
	all, err := k.redis.Do(k.ctx, k.redis.B().XinfoGroups().Key(k.mine.Name()).Build()).ToArray()
	require.NoError(k.t, err)
	said := map[string]group{}
	for _, one := range all {
		info, err := one.AsMap()
		require.NoError(k.t, err)
		name, pending, lag := info["name"], info["pending"], info["lag"]
		text, err := name.ToString()
		require.NoError(k.t, err)
		var g group
		g.pending, err = pending.AsInt64()
		require.NoError(k.t, err)
		g.lag, err = lag.AsInt64()
		if !rueidis.IsRedisNil(err) { // it is unknown after a deletion
			require.NoError(k.t, err)
		}
		said[text] = g
	}
	return said
}

// javaIsDone with all messages, of which nobody else is.
func (k *reliableTalk) javaIsDone(ours string) {
	k.t.Helper()
	eventually(k.ctx, k.t, "Java has acknowledged all", func() bool {
		for name, g := range k.groups() {
			if name != ours && g != (group{}) {
				return false
			}
		}
		return true
	})
}

func bothSubscribeReliably(t *testing.T, w *world) {
	for _, c := range writtenBy {
		w.reliably(t, c).bothSubscribe()
	}
}

func (k *reliableTalk) bothSubscribe() {
	k.t.Helper()
	require.NoError(k.t, k.theirs.Listen(k.ctx))
	s, err := k.mine.Listen(k.ctx)
	require.NoError(k.t, err)
	defer s.Close()
	var all []string
	for _, text := range texts {
		k.goPublishes(2, text)
		k.javaPublishes(2, text)
		all = append(all, text, text)
	}
	k.javaHandles(all...)
	k.goHandles(s, all...)
	for _, count := range []func(context.Context) (int64, error){k.mine.CountSubscribers, k.theirs.CountSubscribers} {
		n, err := count(k.ctx)
		require.NoError(k.t, err)
		require.EqualValues(k.t, 2, n)
	}
	require.NoError(k.t, k.theirs.Unlisten(k.ctx))
	k.javaPublishes(1, "last") // what Java leaves of a millisecond goes with the next
	k.goHandles(s, "last")
	for _, size := range []func(context.Context) (int64, error){k.mine.Len, k.theirs.Size} {
		eventually(k.ctx, k.t, "what all have handled is dropped", func() bool {
			n, err := size(k.ctx)
			require.NoError(k.t, err)
			return n == 0
		})
	}
}

// bothComeLater and get what the topic still has.
func bothComeLater(t *testing.T, w *world) {
	k := w.reliably(t, inText)
	k.goPublishes(0, "a")
	k.javaPublishes(0, "b")
	s, err := k.mine.Listen(k.ctx)
	require.NoError(t, err)
	require.NoError(t, k.theirs.Listen(k.ctx))
	k.javaHandles("a", "b")
	k.goHandles(s, "a", "b")
	s.Close()
	k.javaIsDone("")
	require.NoError(t, k.theirs.Unlisten(k.ctx))
	k.javaPublishes(0, "c")
	k.goPublishes(0, "d")
	s, err = k.mine.Listen(k.ctx)
	require.NoError(t, err)
	defer s.Close()
	for v, err := range s.Messages(k.ctx) {
		require.NoError(t, err)
		if v == "d" {
			break
		}
	}
}

// aDurableNameBesideJava hears what it was away for, though Java cleans up meanwhile.
func aDurableNameBesideJava(t *testing.T, w *world) {
	k := w.reliably(t, inText)
	require.NoError(t, k.theirs.Listen(k.ctx))
	s, err := k.mine.Durable("billing").Listen(k.ctx)
	require.NoError(t, err)
	k.goPublishes(2, "a")
	k.javaPublishes(2, "b")
	k.goHandles(s, "a", "b")
	require.NoError(t, k.client.Close(k.ctx)) // it takes nothing along that comes meanwhile, and Java would drop
	k.javaPublishes(2, "c", "d")
	k.javaHandles("a", "b", "c", "d")
	k.javaIsDone("billing")
	again := k.on(w.client(t, answersMayTakeLong)).Durable("billing")
	s, err = again.Listen(k.ctx)
	require.NoError(t, err)
	k.goHandles(s, "c", "d")
	s.Close()
	there, err := again.Drop(k.ctx)
	require.NoError(t, err)
	require.True(t, there)
	n, err := k.theirs.CountSubscribers(k.ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

// javaCleansUp what a Go process has in hand: a process that lives handles it, and one that has gone has taken it along.
func javaCleansUp(t *testing.T, w *world) {
	t.Attr("footnote", "Java drops what it has handled and others were given, acknowledged or not: what a Go process has in hand then, it can still handle. What it gives back unhandled its name is told of as missed; what it takes along if it dies is lost, as with a Java process.")
	k := w.reliably(t, inText)
	s, err := k.mine.Durable("billing").Listen(k.ctx)
	require.NoError(t, err)
	k.javaPublishes(1, "a")
	time.Sleep(5 * time.Millisecond) // Java keeps all of a millisecond
	k.javaPublishes(1, "b")
	eventually(k.ctx, t, "both are in hand", func() bool { return k.groups()["billing"].pending == 2 })
	require.NoError(t, k.theirs.Listen(k.ctx))
	k.javaHandles("a", "b")
	eventually(k.ctx, t, "Java has dropped them", func() bool {
		n, err := k.mine.Len(k.ctx)
		require.NoError(t, err)
		return n == 0
	})
	k.goHandles(s, "a")
	require.NoError(t, k.client.Close(k.ctx))
	k.javaPublishes(2, "c")
	s, err = k.on(w.client(t, answersMayTakeLong)).Durable("billing").Listen(k.ctx)
	require.NoError(t, err)
	defer s.Close()
	for _, err := range s.Messages(k.ctx) { // the process before gave "b" back, and it is nowhere any more
		var lagged *topic.LaggedError
		require.ErrorAs(t, err, &lagged)
		require.EqualValues(t, 1, lagged.Missed)
		break
	}
	k.goHandles(s, "c")
}
