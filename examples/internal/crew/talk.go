package crew

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Work carries out one order of a member, and returns
// when in has ended, which ends ctx. If it fails before, it says what failed makes
// of that.
func Work[O any](in io.Reader, out io.Writer, work func(o *O, ctx context.Context, say *json.Encoder) error, failed func(o *O, err error) any) error {
	o := new(O)
	if err := json.NewDecoder(in).Decode(o); err != nil {
		return fmt.Errorf("no order: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	say := json.NewEncoder(out)
	over := make(chan struct{})
	go func() { // ends with the work, or with ctx
		defer close(over)
		if err := work(o, ctx, say); err != nil && ctx.Err() == nil {
			_ = say.Encode(failed(o, err))
		}
	}()
	_, _ = io.Copy(io.Discard, in) // nothing more is said: this waits for the end
	cancel()
	<-over
	return nil
}

// Hear lets [Start] pass on what a member says.
func Hear[E any](to chan<- E) func(said *json.Decoder) {
	return func(said *json.Decoder) {
		for {
			var e E
			if said.Decode(&e) != nil {
				return
			}
			to <- e
		}
	}
}

// EndAll ends members, and throws away what they still say; nil is none.
func EndAll[E any](said <-chan E, members ...*Member) {
	over := make(chan struct{})
	go func() { // ends below
		for {
			select {
			case <-said:
			case <-over:
				return
			}
		}
	}()
	for _, m := range members {
		if m != nil {
			m.End()
		}
	}
	close(over)
}
