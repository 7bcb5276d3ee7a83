package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/queue"
)

// asMember is the variable that makes this program a shop or a clerk.
const asMember = "RUEIDISSON_DELAYQUEUE_MEMBER"

// task is what a process is told, as a line of JSON on standard input. When that ends,
// so does the process.
type task struct {
	URL, Name string
	Shop      bool
	Orders    int
	Within    time.Duration
}

type kind string

const (
	placed   kind = "placed"
	canceled kind = "canceled"
	failed   kind = "failed"
	ended    kind = "ended" // the process has; it does not say so itself
)

// event is what a process says, as a line of JSON on standard output.
type event struct {
	Kind  kind
	Shop  bool
	Order int
	At    time.Time // of placed: when it is due
	Err   string    `json:",omitempty"`
}

// unpaid returns the queue that orders come into when their time is over.
func unpaid(c *rueidisson.Client, name string) *queue.Delayed[int] {
	return queue.NewDelayed[int](c, name)
}

// serve does what the task on in says, and returns when in has ended.
func serve(in io.Reader, out io.Writer) error {
	return crew.Work(in, out, (*task).work, func(t *task, err error) any {
		return event{Kind: failed, Shop: t.Shop, Err: err.Error()}
	})
}

func (t *task) work(ctx context.Context, say *json.Encoder) error {
	c, err := rueidisson.Open(t.URL)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	if t.Shop {
		return t.sell(ctx, c, say)
	}
	return t.cancel(ctx, c, say)
}

// sell takes the orders, over half of the time that each has.
func (t *task) sell(ctx context.Context, c *rueidisson.Client, say *json.Encoder) error {
	for i := range t.Orders {
		due := time.Now().Add(t.Within)
		if _, err := unpaid(c, t.Name).Offer(ctx, i, t.Within); err != nil {
			return err
		}
		_ = say.Encode(event{Kind: placed, Shop: true, Order: i, At: due})
		select {
		case <-time.After(t.Within / 2 / time.Duration(t.Orders)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	<-ctx.Done() // it lives on, and moves what is due, until it is killed
	return nil
}

// cancel cancels what was not paid.
func (t *task) cancel(ctx context.Context, c *rueidisson.Client, say *json.Encoder) error {
	for order, err := range unpaid(c, t.Name).Consume(ctx) {
		if err != nil {
			return err
		}
		_ = say.Encode(event{Kind: canceled, Order: order, At: time.Now()})
	}
	return nil
}
