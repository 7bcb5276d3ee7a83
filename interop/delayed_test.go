//go:build interop

package interop

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"
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

var delayedProofs = []proof{
	{row: "delayed_queue/operations/go-java", test: goDelays},
	{row: "delayed_queue/operations/java-go", test: javaDelays},
	{row: "delayed_queue/codecs/both", test: delaysOfAnyCodec},
}

// delayedWaits go on beside each other.
var delayedWaits = []proof{
	{row: "delayed_queue/killed_producer/java-go", test: aProducerInJavaIsKilled},
	{row: "delayed_queue/killed_producer/go-java", test: aProducerInGoIsKilled},
	{row: "delayed_queue/lost_message/java-go", test: aMessageOfJavaIsLost},
	{row: "delayed_queue/each_element_once/both", test: bothMove},
}

var delayedEssentials = []proof{
	{row: "delayed_queue/operations/go-java", test: goDelays},
	{row: "delayed_queue/operations/java-go", test: javaDelays},
}

// delays is a line whose elements wait before they come into it.
type delays struct {
	*line
	late  *queue.Delayed[string]
	java  *peer.Peer
	there peer.Queue // the same in Java, which moves as long as it lives
}

func (w *world) delays(t *testing.T, java *peer.Peer) *delays {
	t.Helper()
	d := &delays{line: w.line(t), java: java}
	d.late = queue.NewDelayed[string](d.client, d.name, queue.WithCodec(codec.Text), queue.WithRedissonFormat())
	d.there = java.Queue("delayedqueue", d.name, d.name, "String")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, key := range d.keys() {
			w.del(ctx, t, key)
		}
	})
	return d
}

// keys are spelled here once more, so that the tests do not take the library's word for it.
func (d *delays) keys() []string {
	return []string{"redisson_delay_queue:{" + d.name + "}", "redisson_delay_queue_timeout:{" + d.name + "}"}
}

// nothingWaits for either side, or on the server.
func (d *delays) nothingWaits() {
	d.t.Helper()
	for _, key := range d.keys() {
		require.False(d.t, d.exists(d.ctx, d.t, key), key)
	}
}

// wait is what waits, for both sides.
func (d *delays) wait(want ...string) {
	d.t.Helper()
	n, err := d.late.Len(d.ctx)
	require.NoError(d.t, err)
	require.EqualValues(d.t, len(want), n)
	n, err = d.there.Size(d.ctx)
	require.NoError(d.t, err)
	require.EqualValues(d.t, len(want), n)
	all, err := d.there.ReadAll(d.ctx)
	require.NoError(d.t, err)
	var theirs, mine []string
	for _, v := range all {
		theirs = append(theirs, v.Text)
	}
	for w, err := range d.late.Waiting(d.ctx) {
		require.NoError(d.t, err)
		mine = append(mine, w.Value)
	}
	require.Equal(d.t, want, theirs, "in the order of the offers")
	require.ElementsMatch(d.t, want, mine)
}

// keep has this process move what is due.
func (d *delays) keep() {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.ctx)
	kept := make(chan error, 1)
	go func() { kept <- d.late.Keep(ctx) }()
	d.t.Cleanup(func() { cancel(); <-kept })
}

func goDelays(t *testing.T, w *world) {
	d := w.delays(t, w.java)
	for _, v := range []string{"b", "a", "a", "é\n"} {
		_, err := d.late.Offer(d.ctx, v, time.Hour)
		require.NoError(t, err)
	}
	d.wait("b", "a", "a", "é\n")
	requireTruth(d.ctx, t, true, func(ctx context.Context) (bool, error) { return d.there.Remove(ctx, peer.String("a")) })
	d.wait("b", "a", "é\n")
	d.line.java("b", d.there.Poll) // before its time
	d.wait("a", "é\n")
	_, err := d.late.Offer(d.ctx, "due", 20*time.Millisecond)
	require.NoError(t, err)
	d.line.java("due", d.theirs.Take)
	requireTruth(d.ctx, t, true, d.there.Delete)
	d.nothingWaits()
}

func javaDelays(t *testing.T, w *world) {
	d := w.delays(t, w.java)
	for _, v := range []string{"b", "a", "a", "é\n"} {
		require.NoError(t, d.there.OfferIn(d.ctx, time.Hour, peer.String(v)))
	}
	d.wait("b", "a", "a", "é\n")
	n, err := d.late.Remove(d.ctx, "a", 0)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	d.wait("b", "é\n")
	for v, err := range d.late.Waiting(d.ctx) {
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(time.Hour), v.Due, patience)
	}
	require.NoError(t, d.there.OfferIn(d.ctx, 20*time.Millisecond, peer.String("due")))
	d.gives("due", d.late.Take)
	did, err := d.late.Delete(d.ctx)
	require.NoError(t, err)
	require.True(t, did)
	d.nothingWaits()
}

// delaysOfAnyCodec are moved by one side and read by the other.
func delaysOfAnyCodec(t *testing.T, w *world) {
	d := w.delays(t, w.java)
	for _, c := range []struct {
		theirs string
		family codec.Family
	}{{"TypedJson:java.lang.String", codec.JSON}, {"MsgPackJackson", codec.Msgpack}, {"Kryo5", codec.Kryo5}} {
		name := d.name + c.theirs
		mine := queue.NewDelayed[string](d.client, name, queue.WithCodec(c.family), queue.WithRedissonFormat())
		theirs := w.java.Queue("delayedqueue", name, name, c.theirs)
		for _, text := range []string{"a", "<&>é🙂\n", ""} {
			_, err := mine.Offer(d.ctx, text, time.Millisecond)
			require.NoError(t, err)
			d.javaTakes(text, w.java.Queue("blockingqueue", name, name, c.theirs).Take)
			require.NoError(t, theirs.OfferIn(d.ctx, time.Millisecond, peer.String(text)))
			d.gives(text, mine.Take)
		}
	}
}

// aProducerInJavaIsKilled: nobody moves what it has offered until somebody in Go does, each element at its time.
func aProducerInJavaIsKilled(t *testing.T, w *world) {
	redistest.Within(t, 50*time.Millisecond, func() time.Duration { return lateAfterAKill(t, w) })
}

// lateAfterAKill returns how late the elements in the middle came.
func lateAfterAKill(t *testing.T, w *world) time.Duration {
	doomed := peer.Start(t, w.jvm)
	d := w.delays(t, doomed)
	require.NoError(t, d.there.OfferIn(d.ctx, time.Millisecond, peer.String("early")))
	d.gives("early", d.mine.Take) // by Java, which lives
	const elements = 30
	start := time.Now()
	due := func(i int) time.Time { return start.Add(2*time.Second + time.Duration(i)*50*time.Millisecond) }
	for i := range elements {
		require.NoError(t, d.there.OfferIn(d.ctx, time.Until(due(i)), peer.String(strconv.Itoa(i))))
	}
	doomed.Kill()
	time.Sleep(time.Until(due(2)))
	n, err := d.mine.Len(d.ctx)
	require.NoError(t, err)
	require.Zero(t, n, "nobody is there who moves it")
	d.keep()
	var late []time.Duration
	came := map[int]bool{}
	for range elements { // in their order, unless a call of Java took longer than the next one
		v, err := d.mine.Take(d.ctx)
		require.NoError(t, err)
		i, err := strconv.Atoi(v)
		require.NoError(t, err)
		if came[i] = true; i >= 10 { // those before were due when nobody kept
			late = append(late, time.Since(due(i)))
		}
	}
	require.Len(t, came, elements)
	d.nothingWaits()
	slices.Sort(late)
	t.Logf("late by %v in the middle, %v at most", late[len(late)/2], late[len(late)-1])
	require.Greater(t, late[0], -5*time.Millisecond)
	return late[len(late)/2]
}

// aProducerInGoIsKilled: Java moves what it has left.
func aProducerInGoIsKilled(t *testing.T, w *world) {
	d := w.delays(t, w.java)
	_, err := d.there.Size(d.ctx) // so that it moves
	require.NoError(t, err)
	child := startChild(t, "delaying", contest{Addrs: w.addrs, Sharded: w.sharded, Lock: d.name, Watchdog: watchdog})
	child.Kill()
	d.gives("left", d.mine.Take)
	d.nothingWaits()
}

// delaying is a Go process that offers an element, and moves what is due until it is killed.
func delaying(p *redistest.Parent) {
	inContest(p, func(ctx context.Context, c contest, client *rueidisson.Client, _ rueidis.Client) error {
		late := queue.NewDelayed[string](client, c.Lock, queue.WithCodec(codec.Text), queue.WithRedissonFormat())
		if _, err := late.Offer(ctx, "left", time.Second); err != nil {
			return err
		}
		p.Say("ready")
		p.Hear()
		return nil
	})
}

// aMessageOfJavaIsLost: all that comes behind the element waits with it in Java, until somebody in Go looks.
func aMessageOfJavaIsLost(t *testing.T, w *world) {
	redistest.Within(t, 6*time.Second, func() time.Duration {
		d := w.delays(t, w.java)
		require.NoError(t, d.there.OfferIn(d.ctx, 100*time.Millisecond, peer.String("first")))
		d.gives("first", d.mine.Take) // Java listens, and has nothing more to move
		d.silently("lost", 300*time.Millisecond)
		for _, v := range []string{"behind", "it"} {
			require.NoError(t, d.there.OfferIn(d.ctx, 500*time.Millisecond, peer.String(v)))
			time.Sleep(5 * time.Millisecond) // what is due in the same one comes in any order
		}
		time.Sleep(1500 * time.Millisecond)
		n, err := d.mine.Len(d.ctx)
		require.NoError(t, err)
		require.Zero(t, n, "Java moves nothing")
		began := time.Now()
		d.keep()
		for _, want := range []string{"lost", "behind", "it"} {
			d.gives(want, d.mine.Take)
		}
		d.silently("again", 0) // while somebody looks now and then
		d.gives("again", d.mine.Take)
		took := time.Since(began)
		d.nothingWaits()
		return took
	})
}

// silently offers as Java does, and its message is lost.
func (d *delays) silently(v string, delay time.Duration) {
	d.t.Helper()
	packed := []byte{8, 0, 0, 0, 0, 0, 0, 0, 0}
	_, _ = rand.Read(packed[1:]) // it never fails
	packed = binary.LittleEndian.AppendUint64(packed, uint64(len(v)))
	packed = append(packed, v...)
	due := time.Now().Add(delay).UnixMilli()
	const both = `redis.call('zadd', KEYS[2], ARGV[1], ARGV[2]) return redis.call('rpush', KEYS[1], ARGV[2])`
	require.NoError(d.t, d.redis.Do(d.ctx, d.redis.B().Eval().Script(both).Numkeys(2).Key(d.keys()[:2]...).
		Arg(strconv.FormatInt(due, 10), string(packed)).Build()).Error())
}

// bothMove what both offer: Java, this process, and another one of Go. Each element comes once.
func bothMove(t *testing.T, w *world) {
	d := w.delays(t, w.java)
	each := redistest.Count(t, 500, 2500)
	startChild(t, "delaying", contest{Addrs: w.addrs, Sharded: w.sharded, Lock: d.name, Watchdog: watchdog})
	d.keep()
	const spread = 2 * time.Second
	var all sync.WaitGroup
	all.Go(func() { assert.NoError(t, d.there.OfferMany(d.ctx, "java ", each, spread)) })
	for i := range each {
		_, err := d.late.Offer(d.ctx, "go "+strconv.Itoa(i), time.Duration(i*37%int(spread/time.Millisecond))*time.Millisecond)
		require.NoError(t, err)
	}
	all.Wait()
	got := map[string]int{}
	for len(got) < 2*each+1 {
		v, err := d.mine.Take(d.ctx)
		require.NoError(t, err)
		got[v]++
		require.Equal(t, 1, got[v], v)
	}
	n, err := d.mine.Len(d.ctx)
	require.NoError(t, err)
	require.Zero(t, n)
	d.nothingWaits()
}
