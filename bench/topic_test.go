package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/topic"
)

// topicRows: a message to a thousand listeners of one process.
var topicRows = []row{
	{"topic, Publish, 64 goroutines, by PUBLISH", "calls/s", goal{atLeast: 1}, besideScript("publish", "bare publish", 64, asIs)},
	{"topic, fan-out to 1,000 listeners of a process, p99", "ms", goal{atMost: 5}, fanOut},
}

func init() {
	impls["publish"] = func(addr string) (impl, error) {
		c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
		return publisher{c}, err
	}
	impls["bare publish"] = func(addr string) (impl, error) {
		c, err := rueidis.NewClient(connection(addr))
		return barePublisher{c}, err
	}
}

type publisher struct{ c *rueidisson.Client }

func (p publisher) locker(name string) locker {
	t := topic.New[string](p.c, "topic:"+name)
	return call(func(ctx context.Context, _ int) error { _, err := t.Publish(ctx, text64); return err }).locker()
}

func (p publisher) close() { _ = p.c.Close(context.Background()) }

type barePublisher struct{ c rueidis.Client }

func (p barePublisher) locker(name string) locker {
	return call(func(ctx context.Context, _ int) error {
		return p.c.Do(ctx, p.c.B().Publish().Channel("topic:"+name).Message(text64).Build()).Error()
	}).locker()
}

func (p barePublisher) close() { p.c.Close() }

// fleetOfEars is a thousand loops over one topic, and another client that publishes.
type fleetOfEars struct {
	from        *topic.Topic[int64]
	connections int
	receivers   int64

	mu   sync.Mutex
	took []time.Duration // from the call of Publish to each loop
	late sync.WaitGroup  // loops that have not had the last message
}

const ears = 1000

func fanOut(t *testing.T, s *redistest.Server) sides {
	open := func() *rueidisson.Client {
		c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return c
	}
	name := redistest.Name(t)
	f := &fleetOfEars{from: topic.New[int64](open(), name)}
	at := open()
	before := s.Connections(t)
	for range ears {
		heard, err := topic.New[int64](at, name).Listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(heard.Close)
		go f.listen(t.Context(), heard) // ends with the subscription
	}
	f.connections = s.Connections(t) - before
	return sides{ours: f.p99, note: func() string {
		return fmt.Sprintf("connections: %d; receivers of each message: %d", f.connections, f.receivers)
	}}
}

func (f *fleetOfEars) listen(ctx context.Context, heard *topic.Subscription[int64]) {
	for sent, err := range heard.Messages(ctx) {
		if err != nil {
			return
		}
		took := time.Since(time.Unix(0, sent))
		f.mu.Lock()
		f.took = append(f.took, took)
		f.mu.Unlock()
		f.late.Done()
	}
}

// p99 is over all loops and messages of d, one message after the other.
func (f *fleetOfEars) p99(d time.Duration) (float64, error) {
	f.took = nil
	for end := time.Now().Add(d); time.Now().Before(end); {
		f.late.Add(ears)
		n, err := f.from.Publish(context.Background(), time.Now().UnixNano())
		if err != nil {
			return 0, err
		}
		f.receivers = n
		f.late.Wait()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.Sort(f.took)
	return float64(f.took[len(f.took)*99/100].Microseconds()) / 1000, nil
}
