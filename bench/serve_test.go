package bench

import (
	"context"
	"errors"
	"sync"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

func init() {
	for name, opts := range map[string][]reliable.ServeOption{
		"reliable serve":       {reliable.WithConcurrency(64)},
		"reliable serve ahead": {reliable.WithConcurrency(64), reliable.WithPrefetch(64)},
	} {
		impls[name] = func(addr string) (impl, error) {
			c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
			return &serving{c: c, opts: opts}, err
		}
	}
}

// handing is handlers that do nothing but let calls of lockers pass, one each.
type handing struct{ handed, closed chan struct{} }

func newHanding() handing { return handing{make(chan struct{}), make(chan struct{})} }

var errOver = errors.New("the benchmark is over")

func (h handing) hand() error {
	select {
	case h.handed <- struct{}{}:
		return nil
	case <-h.closed:
		return errOver
	}
}

func (h handing) pass(ctx context.Context, _ int) error {
	select {
	case <-h.handed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serving is a Serve of 64 handlers.
type serving struct {
	handing
	c    *rueidisson.Client
	opts []reliable.ServeOption
	all  sync.WaitGroup
	stop context.CancelFunc
}

// locker starts it with the first one: all of them are of one name.
func (i *serving) locker(name string) locker {
	if i.stop == nil {
		i.handing = newHanding()
		q := reliable.New[string](i.c, name)
		var ctx context.Context
		ctx, i.stop = context.WithCancel(context.Background())
		i.all.Go(func() {
			_ = q.Serve(ctx, func(context.Context, *reliable.Message[string]) error { return i.hand() }, i.opts...)
		})
	}
	return call(i.pass).locker()
}

func (i *serving) close() {
	if i.stop != nil {
		i.stop()
		close(i.closed)
		i.all.Wait()
	}
	_ = i.c.Close(context.Background())
}
