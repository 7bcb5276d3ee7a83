package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// await waits for a request that may be done although its caller has gone. Who
// leaves by ctx knows that; whom Close sends away is told.
func await[A any](ctx context.Context, s *send.Sender, request func() (A, error)) (A, error) {
	got, err, answered := send.Await(s, ctx, 0, request)
	if !answered && errors.Is(err, core.ErrClosed) {
		err = fmt.Errorf("%w: %w", core.ErrUnknown, err)
	}
	return got, err
}

// turnWithin is how long a request waits for its turn when its caller has gone:
// longer than an exchange takes. While a server is silent, each that waits is
// memory, and callers may come faster than exchanges end.
const turnWithin = 5 * time.Second

// Insist makes a request that is to be made also if its caller leaves before its
// turn has come.
func Insist[A any](ctx context.Context, s *send.Sender, request func(context.Context) (A, error)) (A, error) {
	if ctx.Done() == nil {
		return request(ctx)
	}
	kept, drop := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(turnWithin, drop) })
	return await(ctx, s, func() (A, error) {
		defer drop()
		defer stop()
		return request(kept)
	})
}
