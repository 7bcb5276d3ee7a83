package bench

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// reliableRows: messages of 100 bytes as text.
var reliableRows = []row{
	{"reliable queue, Add, 1 goroutine, by its script", "us/call", goal{atMost: 1.25}, besideScript("reliable add", "add.lua", 1, microseconds)},
	{"reliable queue, Add, 64 goroutines, by asynq", "messages/s", goal{atLeast: 2.5}, besideScript("reliable add", "asynq add", 64, asIs)},
	{"reliable queue, Add, 256 goroutines, by asynq", "messages/s", goal{atLeast: 5}, besideScript("reliable add", "asynq add", 256, asIs)},
	{"reliable queue, Add, 64 goroutines, by RPUSH", "messages/s", goal{atLeast: 0.95}, besideScript("reliable add", "rpush", 64, asIs)},
	{"reliable queue, Add, 256 goroutines, by RPUSH", "messages/s", goal{atLeast: 0.95}, besideScript("reliable add", "rpush", 256, asIs)},
	{"reliable queue, AddAll of 1,000, by RPUSH of 256 goroutines", "messages/s", goal{atLeast: 1.3, why: "HSET of the bodies takes the server 1.0 of 1.7 ms, and RPUSH has none"}, addAll},
	{"reliable queue, take and ack, 64 goroutines, by asynq", "messages/s", goal{atLeast: 6.5}, taking(1, "reliable take", (*backlog).rate)},
	{"reliable queue, take and ack, 4 processes x 64, by asynq", "messages/s", goal{atLeast: 11}, taking(4, "reliable take", (*backlog).rate)},
	{"reliable queue, take and ack, 64 goroutines, by LMOVE and LREM", "messages/s", goal{}, takingBeside("rpush", "list move", 300_000, 1, "reliable take", (*backlog).rate)},
	{"reliable queue, Serve, 64 goroutines, by asynq", "messages/s", goal{atLeast: 6.5}, taking(1, "reliable serve", (*backlog).rate)},
	{"reliable queue, Serve, 64 goroutines, WithPrefetch(64), by asynq", "messages/s", goal{atLeast: 6.5}, taking(1, "reliable serve ahead", (*backlog).rate)},
	{"reliable queue, Serve, 4 processes x 64, by asynq", "messages/s", goal{atLeast: 13}, taking(4, "reliable serve", (*backlog).rate)},
	{"reliable queue, Serve, 4 processes x 64, WithPrefetch(64), by asynq", "messages/s", goal{atLeast: 13}, taking(4, "reliable serve ahead", (*backlog).rate)},
	{"reliable queue, Serve, CPU of the server, 1 process x 64, by asynq", "us/message", goal{atMost: 0.25}, taking(1, "reliable serve", (*backlog).serverTime)},
	{"reliable queue, Serve, CPU of the server, 4 processes x 64, by asynq", "us/message", goal{atMost: 0.143}, taking(4, "reliable serve", (*backlog).serverTime)},
	{"reliable queue, from Add to a process that waits, by a message and a script", "us", goal{atMost: 1.8}, wakeUp("reliable wake", "message and script")},
	{"reliable queue, 100 clients that wait", "scripts/s", goal{atMost: 25}, idleClients},
	{"reliable queue, 100 clients that wait, a message each 10 ms", "steps/message", goal{atMost: 2.2}, stepsOf(0)},
	{"reliable queue, 100 clients that wait, a delayed message each 10 ms", "steps/message", goal{atMost: 2.2}, stepsOf(50 * time.Millisecond)},
	{"reliable queue, 1,000,000 ready, memory, by asynq", "bytes/message", goal{atMost: 0.45}, memoryOf(ready{})},
	{"reliable queue, 1,000,000 scheduled, memory, by asynq", "bytes/message", goal{atMost: 0.45}, memoryOf(scheduled{})},
	{"reliable queue, after 1,000,000 scheduled, lateness, p99", "ms", goal{atMost: 5}, lateness},
}

func init() {
	impls["reliable add"] = reliableImpl(func(q *reliable.Queue[string]) call {
		return func(ctx context.Context, _ int) error {
			_, err := q.Add(ctx, text100)
			return err
		}
	})
	impls["reliable add all"] = reliableImpl(func(q *reliable.Queue[string]) call {
		return func(ctx context.Context, _ int) error {
			_, err := q.AddAll(ctx, thousand)
			return err
		}
	})
	impls["reliable take"] = reliableImpl(func(q *reliable.Queue[string]) call {
		return func(ctx context.Context, _ int) error {
			m, err := q.Receive(ctx)
			if err != nil {
				return err
			}
			return m.Ack(ctx)
		}
	})
	impls["add.lua"] = newAddFloor
	impls["list move"] = bareMap(func(c rueidis.Client, name string) call {
		name = "list of " + name
		return func(ctx context.Context, _ int) error {
			text, err := c.Do(ctx, c.B().Lmove().Source(name).Destination(name+" taken").Left().Right().Build()).ToString()
			if err != nil {
				return err
			}
			return c.Do(ctx, c.B().Lrem().Key(name+" taken").Count(1).Element(text).Build()).Error()
		}
	})
	impls["rpush"] = bareMap(func(c rueidis.Client, name string) call {
		name = "list of " + name
		return func(ctx context.Context, _ int) error {
			return c.Do(ctx, c.B().Rpush().Key(name).Element(text100).Build()).Error()
		}
	})
}

var (
	text100  = strings.Repeat("0123456789", 10)
	thousand = func() (all []string) {
		for range 1000 {
			all = append(all, text100)
		}
		return all
	}()
)

// queues are reliable queues of one client.
type queues struct {
	c  *rueidisson.Client
	of func(q *reliable.Queue[string]) call
}

func reliableImpl(of func(q *reliable.Queue[string]) call) func(addr string) (impl, error) {
	return func(addr string) (impl, error) {
		c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
		return queues{c, of}, err
	}
}

func (i queues) locker(name string) locker {
	return i.of(reliable.New[string](i.c, name)).locker()
}

func (i queues) close() { _ = i.c.Close(context.Background()) }

// addFloor is the bare add.lua, with what our own calls have as its arguments.
type addFloor struct {
	c   rueidis.Client
	add *scripts.Script
}

func newAddFloor(addr string) (impl, error) {
	c, err := rueidis.NewClient(connection(addr))
	return addFloor{c, scripts.Must(os.DirFS("../queue/reliable"), "lua/add.lua")}, err
}

// envelope is as long as that of a message without header and timeout.
const envelope = "1234567"

func (i addFloor) locker(name string) locker {
	on := append(keys.Reliable(name), keys.ReliableLane(name, "bare")+":0")
	wake := keys.ReliableWake(name)
	return call(func(ctx context.Context, n int) error {
		args := []string{strconv.Itoa(n), send.MemoryMillis, wake, "publish", "1", "0", "", envelope + text100}
		return i.add.Exec(ctx, i.c, on, args).Error()
	}).locker()
}

func (i addFloor) close() { i.c.Close() }

func addAll(t *testing.T, s *redistest.Server) sides {
	ours := onOneKey(connect(t, "reliable add all", s.Addr()), "all", 1)
	base := onOneKey(connect(t, "rpush", s.Addr()), "list", 256)
	return sides{
		ours: func(d time.Duration) (float64, error) {
			pieces, err := ours.rate(d)
			return pieces * float64(len(thousand)), err
		},
		base: base.rate,
	}
}
