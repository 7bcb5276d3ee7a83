package bench

import (
	"context"
	"strconv"
	"sync"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// transferRows: a message and its ack, to a handler of another client that does nothing.
var transferRows = []row{
	{"reliable queue, Transfer, 1 goroutine, by two lists and BLPOP", "us/call", goal{}, besideScript("transfer", "two lists", 1, microseconds)},
	{"reliable queue, Transfer, 64 goroutines, by two lists and BLPOP", "calls/s", goal{}, besideScript("transfer", "two lists", 64, asIs)},
}

func init() {
	impls["transfer"] = func(addr string) (impl, error) {
		c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
		if err != nil {
			return nil, err
		}
		w, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
		return &transferring{c: c, worker: w}, err
	}
	impls["two lists"] = func(addr string) (impl, error) {
		c, err := rueidis.NewClient(connection(addr))
		return &twoLists{c: c}, err
	}
}

// transferring has the calls of one client, and a Serve of another one.
type transferring struct {
	c, worker *rueidisson.Client
	all       sync.WaitGroup
	stop      context.CancelFunc
}

// locker starts the handlers with the first one: all of them are of one name.
func (i *transferring) locker(name string) locker {
	if i.stop == nil {
		var ctx context.Context
		ctx, i.stop = context.WithCancel(context.Background())
		i.all.Go(func() {
			_ = reliable.New[string](i.worker, name).Serve(ctx, func(context.Context, *reliable.Message[string]) error { return nil }, reliable.WithConcurrency(64))
		})
	}
	q := reliable.New[string](i.c, name)
	return call(func(ctx context.Context, _ int) error {
		_, err := q.Transfer(ctx, text100)
		return err
	}).locker()
}

func (i *transferring) close() {
	if i.stop != nil {
		i.stop()
	}
	i.all.Wait()
	_ = i.c.Close(context.Background())
	_ = i.worker.Close(context.Background())
}

// twoLists has a list of messages, and for each caller a list of answers and a worker.
type twoLists struct {
	c    rueidis.Client
	all  sync.WaitGroup
	mu   sync.Mutex
	stop []context.CancelFunc
}

func (i *twoLists) locker(name string) locker {
	i.mu.Lock()
	defer i.mu.Unlock()
	ctx, stop := context.WithCancel(context.Background())
	i.stop = append(i.stop, stop)
	jobs, acks := "jobs of "+name, "acks of "+name+strconv.Itoa(len(i.stop))
	i.all.Go(func() {
		for ctx.Err() == nil {
			got, err := i.c.Do(ctx, i.c.B().Blpop().Key(jobs).Timeout(1).Build()).AsStrSlice()
			if err == nil {
				i.c.Do(ctx, i.c.B().Rpush().Key(got[1]).Element("").Build())
			}
		}
	})
	return call(func(ctx context.Context, _ int) error {
		if err := i.c.Do(ctx, i.c.B().Rpush().Key(jobs).Element(acks).Build()).Error(); err != nil {
			return err
		}
		return i.c.Do(ctx, i.c.B().Blpop().Key(acks).Timeout(10).Build()).Error()
	}).locker()
}

func (i *twoLists) close() {
	for _, stop := range i.stop {
		stop()
	}
	i.all.Wait()
	i.c.Close()
}
