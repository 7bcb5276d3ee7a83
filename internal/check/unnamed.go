package check

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

// unnamed is a script that is sent to the server of its keys, without naming them as keys: the server refuses a script
// with a key that the user may not use.
type unnamed struct{ *scripts.Script }

func (u unnamed) Exec(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return c.Do(ctx, c.B().Arbitrary("EVAL").Args(u.Body(), "0").Args(args...).Keys(keys[:min(1, len(keys))]...).Build())
}

func (u unnamed) ExecFresh(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return c.Do(ctx, c.B().Arbitrary("EVAL").Args(u.Body(), "0").Args(args...).Keys(keys[:min(1, len(keys))]...).Blocking())
}

// atOnce is how many exchanges are under way at the same time.
const atOnce = 32

// Parallel calls for 0 to n-1, some at the same time, and joins the errors in their order.
func Parallel(n int, call func(i int) error) error {
	errs := make([]error, n)
	places := make(chan struct{}, atOnce)
	var calls sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		calls.Go(func() {
			errs[i] = call(i)
			<-places
		})
	}
	calls.Wait()
	return errors.Join(errs...)
}
