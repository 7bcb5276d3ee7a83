package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bloom"
	"github.com/rueidisson/rueidisson/counter"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/set"
	"github.com/rueidisson/rueidisson/sortedset"
)

// asFeeder is the variable that makes this program a feeder.
const asFeeder = "RUEIDISSON_BOARD_FEEDER"

const (
	// visitors is how many different names may visit, and players how many have points.
	visitors, players = 3000, 12
	// between is how long a feeder waits from one visit to the next.
	between = 2 * time.Millisecond
	// tells is how often a feeder says what it has done.
	tells = 100 * time.Millisecond
)

// task is what a feeder is told, as a line of JSON on standard input. When that ends, so does
// the process.
type task struct {
	URL, Name string
	Feeder    int
}

type kind string

const (
	fed    kind = "fed"
	failed kind = "failed"
	ended  kind = "ended" // the process has; it does not say so itself
)

// event is what a feeder says, as a line of JSON on standard output.
type event struct {
	Kind          kind
	Feeder        int
	Visits, Fresh int    `json:",omitempty"`
	Err           string `json:",omitempty"`
}

// objects are what the feeders and the board share.
type objects struct {
	seen     *bloom.Filter[string]
	exact    *set.Set[string]
	distinct *counter.Distinct[string]
	visits   *counter.Counter
	points   *sortedset.Set[string]
}

func objectsOf(c *rueidisson.Client, name string) objects {
	return objects{
		seen:     bloom.New[string](c, name+":seen"),
		exact:    set.New[string](c, name+":exact"),
		distinct: counter.NewDistinct[string](c, name+":distinct"),
		visits:   counter.New(c, name+":visits"),
		points:   sortedset.New[string](c, name+":points"),
	}
}

// remove removes them all.
func (o objects) remove(ctx context.Context) error {
	var all []error
	for _, remove := range []func(context.Context) (bool, error){o.seen.Delete, o.exact.Delete, o.distinct.Delete, o.visits.Delete, o.points.Delete} {
		_, err := remove(ctx)
		all = append(all, err)
	}
	return errors.Join(all...)
}

func visitor(i int) string { return fmt.Sprintf("visitor-%d", i) }

// serve does what the task on in says, and returns when in has ended.
func serve(in io.Reader, out io.Writer) error {
	return crew.Work(in, out, (*task).work, func(t *task, err error) any {
		return event{Kind: failed, Feeder: t.Feeder, Err: err.Error()}
	})
}

// work lets visitors come until ctx ends.
func (t *task) work(ctx context.Context, say *json.Encoder) error {
	c, err := rueidisson.Open(t.URL)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	all := objectsOf(c, t.Name)
	told, e := time.Now(), event{Kind: fed, Feeder: t.Feeder}
	for ctx.Err() == nil {
		fresh, err := all.visit(ctx)
		if err != nil {
			return err
		}
		e.Visits++
		if fresh {
			e.Fresh++
		}
		if time.Since(told) >= tells {
			_ = say.Encode(e)
			told, e = time.Now(), event{Kind: fed, Feeder: t.Feeder}
		}
		select {
		case <-time.After(between):
		case <-ctx.Done():
		}
	}
	return nil
}

// visit has some visitor come, the first ones more often than the others. What is in the exact set was
// in the filter before.
func (o objects) visit(ctx context.Context) (fresh bool, err error) {
	who := visitor(min(rand.IntN(visitors), rand.IntN(visitors)))
	news, err := o.seen.AddNew(ctx, who)
	if err != nil {
		return false, err
	}
	if _, err = o.exact.Add(ctx, who); err != nil {
		return false, err
	}
	if err = o.distinct.Add(ctx, who); err != nil {
		return false, err
	}
	if _, err = o.visits.Add(ctx, 1); err != nil {
		return false, err
	}
	player := fmt.Sprintf("player-%d", rand.IntN(players))
	_, err = o.points.AddScore(ctx, float64(1+rand.IntN(10)), player)
	return news[0], err
}
