package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

func init() {
	// Of the side that tells: what is released is a message.
	impls["reliable wake"] = func(addr string) (impl, error) {
		c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
		return telling{c}, err
	}
	impls["message and script"] = func(addr string) (impl, error) {
		c, err := rueidis.NewClient(connection(addr))
		return bareTelling{c}, err
	}
	// Of the side that waits.
	kinds["reliable wake"] = func(c *rueidisson.Client, name string) locker {
		q := reliable.New[string](c, name, reliable.WithCodec(codec.Text))
		return func(ctx context.Context) (unlock, error) {
			m, err := q.Receive(ctx)
			if err != nil {
				return nil, err
			}
			return func() error { return m.Ack(ctx) }, nil
		}
	}
	bareKinds["message and script"] = func(c rueidis.Client, name string) sleeper { return &bareHeard{c: c, name: name} }
}

type telling struct{ c *rueidisson.Client }

func (i telling) locker(name string) locker {
	q := reliable.New[string](i.c, name)
	return func(ctx context.Context) (unlock, error) {
		return func() error {
			_, err := q.Add(ctx, text100)
			return err
		}, nil
	}
}

func (i telling) close() { _ = i.c.Close(context.Background()) }

type bareTelling struct{ c rueidis.Client }

func (i bareTelling) locker(name string) locker {
	return func(ctx context.Context) (unlock, error) {
		return func() error {
			return i.c.Do(ctx, i.c.B().Publish().Channel(name).Message(text100).Build()).Error()
		}, nil
	}
}

func (i bareTelling) close() { i.c.Close() }

var onlyIncrement = rueidis.NewLuaScript(`return redis.call('incr', KEYS[1])`)

// bareHeard runs a script of one command when a message has come.
type bareHeard struct {
	c     rueidis.Client
	name  string
	waits bool
}

func (b *bareHeard) subscription() string { return b.name }

func (b *bareHeard) acquire(ctx context.Context) error {
	if !b.waits {
		b.waits = true
		return errBusy
	}
	return onlyIncrement.Exec(ctx, b.c, []string{b.name}, nil).Error()
}

func (b *bareHeard) release(context.Context) error {
	b.waits = false
	return nil
}

// crowdOfClients is clients of which each serves one queue. To the server each is a
// process.
type crowdOfClients struct {
	s    *redistest.Server
	from *reliable.Queue[string]
	late chan time.Duration // of each message, behind its time
}

func manyClients() int {
	if *full {
		return 100
	}
	return 10
}

func startClients(t *testing.T, s *redistest.Server, n int) *crowdOfClients {
	t.Helper()
	open := func() *reliable.Queue[string] {
		c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return reliable.New[string](c, "idle")
	}
	k := &crowdOfClients{s: s, from: open(), late: make(chan time.Duration, 1000)}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() { cancel(); all.Wait() })
	for range n {
		q := open()
		all.Go(func() { k.work(ctx, q) })
	}
	for s.CommandCalls(t, "subscribe") < int64(n) {
		time.Sleep(10 * time.Millisecond)
	}
	return k
}

// work tells how late each message was: its value is when it was to come.
func (k *crowdOfClients) work(ctx context.Context, q *reliable.Queue[string]) {
	_ = q.Serve(ctx, func(_ context.Context, m *reliable.Message[string]) error {
		due, _ := time.Parse(time.RFC3339Nano, m.Value)
		k.late <- time.Since(due)
		return nil
	})
}

// send adds one that is due in so long.
func (k *crowdOfClients) send(delay time.Duration) error {
	due := time.Now().Add(delay)
	var opts []reliable.AddOption
	if delay > 0 {
		due = due.Truncate(time.Millisecond)
		opts = append(opts, reliable.WithAt(due))
	}
	_, err := k.from.Add(context.Background(), due.Format(time.RFC3339Nano), opts...)
	return err
}

// idleClients measures once, for long enough to see those who look without a reason.
func idleClients(t *testing.T, s *redistest.Server) sides {
	k := startClients(t, s, manyClients())
	var commands float64
	return sides{
		ours: once(func(d time.Duration) (float64, error) {
			if *full {
				time.Sleep(6 * time.Second) // each has looked again
				d = 20 * time.Second
			}
			s.ResetStats()
			time.Sleep(d)
			calls := k.s.ScriptCalls(t)
			commands = float64(k.s.CommandCalls(t)) / d.Seconds()
			return float64(calls) / d.Seconds(), nil
		}),
		note: func() string {
			return fmt.Sprintf("all commands, what scripts call and INFO included: %.0f/s", commands)
		},
	}
}

// stepsOf is how many scripts beside the add a message costs, of those that come one
// behind the other to clients that have nothing to do.
func stepsOf(delay time.Duration) func(t *testing.T, s *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		k := startClients(t, s, manyClients())
		var late []time.Duration
		ours := once(func(d time.Duration) (float64, error) {
			if *full {
				time.Sleep(6 * time.Second)
				d = 10 * time.Second
			}
			s.ResetStats()
			n := 0
			for began := time.Now(); time.Since(began) < d; n++ {
				if err := k.send(delay); err != nil {
					return 0, err
				}
				time.Sleep(10 * time.Millisecond)
			}
			for range n {
				late = append(late, <-k.late)
			}
			return float64(s.ScriptCalls(t))/float64(n) - 1, nil
		})
		return sides{ours: ours, note: func() string { return lateNote(late) }}
	}
}

func lateNote(late []time.Duration) string {
	slices.Sort(late)
	at := func(part int) time.Duration { return late[len(late)*part/100].Round(time.Microsecond) }
	return fmt.Sprintf("from its time, or the Add, to the handler: median %v, p99 %v", at(50), at(99))
}

// lateness has messages come due behind a million that come much later.
func lateness(t *testing.T, s *redistest.Server) sides {
	k := startClients(t, s, 1)
	for n := 0; n < million(); n += len(thousand) {
		if _, err := k.from.AddAll(t.Context(), thousand, reliable.WithDelay(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	var all []time.Duration
	ours := func(d time.Duration) (float64, error) {
		n := 0
		for began := time.Now(); n < 10 || time.Since(began) < d; n++ {
			if err := k.send(50*time.Millisecond + time.Duration(n%7)*time.Millisecond); err != nil {
				return 0, err
			}
			time.Sleep(time.Millisecond)
		}
		var late []time.Duration
		for range n {
			late = append(late, <-k.late)
		}
		all = append(all, late...)
		slices.Sort(late)
		return float64(late[len(late)*99/100].Microseconds()) / 1000, nil
	}
	return sides{ours: ours, note: func() string { return lateNote(all) }}
}

// staying is how messages are added that stay.
type staying interface {
	ours() []reliable.AddOption
	theirs() []asynq.Option
}

// ready messages wait for a worker, and scheduled ones for their time.
type (
	ready     struct{}
	scheduled struct{}
)

func (ready) ours() []reliable.AddOption { return nil }

func (ready) theirs() []asynq.Option { return nil }

func (scheduled) ours() []reliable.AddOption {
	return []reliable.AddOption{reliable.WithDelay(time.Hour)}
}

func (scheduled) theirs() []asynq.Option { return []asynq.Option{asynq.ProcessIn(time.Hour)} }

// memoryOf compares what messages that stay are for the server.
func memoryOf(of staying) func(t *testing.T, s *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		ctx, other := t.Context(), redistest.Start(t)
		c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		q := reliable.New[string](c, "kept")
		peer := asynqAdds{asynq.NewClient(asynqAt(other.Addr()))}
		t.Cleanup(peer.close)
		return sides{
			ours: bytesEach(s.Client(t), func() error {
				for n := 0; n < million(); n += len(thousand) {
					if _, err := q.AddAll(ctx, thousand, of.ours()...); err != nil {
						return err
					}
				}
				return nil
			}),
			base: bytesEach(other.Client(t), func() error {
				return onOneKey(keeping{peer, of}, "kept", asynqWorkers).runTimes(million())
			}),
		}
	}
}

// keeping adds what stays.
type keeping struct {
	asynqAdds
	of staying
}

func (i keeping) locker(name string) locker {
	task := asynq.NewTask("mail", []byte(text100))
	opts := append([]asynq.Option{asynq.Queue(name)}, i.of.theirs()...)
	return call(func(ctx context.Context, _ int) error {
		_, err := i.c.EnqueueContext(ctx, task, opts...)
		return err
	}).locker()
}

// bytesEach is what a million of something take of the server's memory.
func bytesEach(raw rueidis.Client, add func() error) measure {
	return once(func(time.Duration) (float64, error) {
		before, err := usedMemory(raw)
		if err == nil {
			err = add()
		}
		if err != nil {
			return 0, err
		}
		after, err := usedMemory(raw)
		return float64(after-before) / float64(million()), err
	})
}

func usedMemory(raw rueidis.Client) (n int64, err error) {
	text, err := raw.Do(context.Background(), raw.B().Info().Section("memory").Build()).ToString()
	for line := range strings.Lines(text) {
		_, _ = fmt.Sscanf(line, "used_memory:%d", &n)
	}
	return n, err
}
