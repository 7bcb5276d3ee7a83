package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
)

// asShard is the variable that makes this program a shard.
const asShard = "RUEIDISSON_LATCH_SHARD"

// order is what a shard is told, as a line of JSON on standard input. When that
// ends, so does the process.
type order struct {
	URL, Fleet string
	Shard      int
	Load       time.Duration
	Plain      bool
}

func (o *order) name() string { return fmt.Sprintf("shard %d", o.Shard) }

type kind string

const (
	loaded   kind = "loaded"   // one part of what there is to load
	reported kind = "reported" // all of it, and counted down
	started  kind = "started"
	failed   kind = "failed"
	ended    kind = "ended" // the process has; it does not say so itself
)

// parts is how many steps the loading of a shard has.
const parts = 20

// event is what a shard says, as a line of JSON on standard output.
type event struct {
	Kind  kind
	Shard int
	At    time.Time
	Left  int64  `json:",omitempty"` // of reported: how many the fleet still waits for
	Err   string `json:",omitempty"`
}

// serve does what the order on in says, and returns when in has ended.
func serve(in io.Reader, out io.Writer) error {
	return crew.Work(in, out, (*order).work, func(o *order, err error) any {
		return event{Kind: failed, Shard: o.Shard, Err: err.Error()}
	})
}

// work does the work of a shard.
func (o *order) work(ctx context.Context, say *json.Encoder) error {
	c, err := rueidisson.Open(o.URL)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	for range parts {
		select {
		case <-time.After(o.Load / parts):
		case <-ctx.Done():
			return ctx.Err()
		}
		_ = say.Encode(event{Kind: loaded, Shard: o.Shard, At: time.Now()})
	}
	at := time.Now()
	left, err := o.report(ctx, c)
	if err != nil {
		return err
	}
	_ = say.Encode(event{Kind: reported, Shard: o.Shard, At: at, Left: left})
	if err := c.Latch(o.Fleet + ":start").Await(ctx); err != nil {
		return err
	}
	_ = say.Encode(event{Kind: started, Shard: o.Shard, At: time.Now()})
	return nil
}

// report says that the shard is ready. Under its own name it counts once, however
// often its process is started.
func (o *order) report(ctx context.Context, c *rueidisson.Client) (left int64, err error) {
	ready := c.Latch(o.Fleet + ":ready")
	if o.Plain {
		return ready.CountDown(ctx)
	}
	return ready.CountDownOnce(ctx, o.name())
}
