package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// asPlace is the variable that makes this program a place of the line.
const asPlace = "RUEIDISSON_JOBS_PLACE"

// places are what an order goes through.
var places = [...]string{"paid", "packed", "mailed"}

// order is a message of the queues.
type order struct {
	Number  int
	Address string // "": it cannot be packed
}

// errand is what a place is told, as a line of JSON on standard input. When that ends,
// so does the process.
type errand struct {
	URL, Post, Name string
	Place           int
}

type kind string

const (
	ready  kind = "ready" // it takes orders now
	failed kind = "failed"
	ended  kind = "ended" // the process has; it does not say so itself
)

// event is what a place says, as a line of JSON on standard output.
type event struct {
	Kind  kind
	Place int
	Err   string `json:",omitempty"`
}

// serve does what the errand on in says, and returns when in has ended.
func serve(in io.Reader, out io.Writer) error {
	return crew.Work(in, out, (*errand).work, func(e *errand, err error) any {
		return event{Kind: failed, Place: e.Place, Err: err.Error()}
	})
}

const (
	// lease is how long the orders of a dead process wait.
	lease = time.Second
	// hands is how many orders a place has under way.
	hands = 8
	// labour is what a place takes for an order.
	labour = 5 * time.Millisecond
	// boxes is how long it takes until there is a box again.
	boxes = 100 * time.Millisecond
	// remembered is for how long no order is handed on twice.
	remembered = time.Hour
)

// queue returns what waits for a place.
func queue(c *rueidisson.Client, name string, place int) *reliable.Queue[order] {
	return reliable.New[order](c, name+":"+places[place], reliable.WithLease(lease))
}

// work serves the place until it ends.
func (e *errand) work(ctx context.Context, say *json.Encoder) error {
	c, err := rueidisson.Open(e.URL)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	_ = say.Encode(event{Kind: ready, Place: e.Place})
	next := e.mail
	if e.Place+1 < len(places) {
		next = func(ctx context.Context, o order) error { return handOn(ctx, queue(c, e.Name, e.Place+1), o) }
	}
	return queue(c, e.Name, e.Place).Serve(ctx, func(ctx context.Context, m *reliable.Message[order]) error {
		time.Sleep(labour)
		if err := e.pack(m); err != nil {
			return err
		}
		return next(ctx, m.Value)
	}, reliable.WithConcurrency(hands))
}

// pack is where orders fail.
func (e *errand) pack(m *reliable.Message[order]) error {
	switch {
	case places[e.Place] != "packed":
		return nil
	case m.Value.Address == "":
		return reliable.Discard(errors.New("no address"))
	case m.Value.Number%10 == 0 && m.Attempt == 1:
		return reliable.RetryIn(errors.New("no box at hand"), boxes)
	}
	return nil
}

// handOn adds an order to the queue of the next place, once: who has done that and died
// before it was acknowledged here leaves a duplicate to be refused.
func handOn(ctx context.Context, to *reliable.Queue[order], o order) error {
	_, err := to.Add(ctx, o, reliable.WithDedup(fmt.Sprint("order ", o.Number), remembered))
	if errors.Is(err, reliable.ErrDuplicate) {
		return nil
	}
	return err
}

// mail brings a letter to the post office.
func (e *errand) mail(ctx context.Context, o order) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s/?order=%d", e.Post, o.Number), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the post says %s", resp.Status)
	}
	time.Sleep(labour) // on the way back
	return nil
}
