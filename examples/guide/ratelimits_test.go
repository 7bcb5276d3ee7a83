package guide

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// limited puts a limit in front of a handler: 100 requests a minute for each address, 10 of them at once.
func limited(ctx context.Context, c *rueidisson.Client, next http.Handler) (http.Handler, error) {
	api := c.RateLimiter("api")
	if err := api.SetRate(ctx, ratelimiter.PerMinute(100).WithBurst(10)); err != nil {
		return nil, err
	}
	limit, err := httplimit.New(api, httplimit.ByIP(), httplimit.FailOpen) // without a decision the request passes
	if err != nil {
		return nil, err
	}
	return limit(next), nil
}

// callPartner waits for its turn: all processes together call the partner ten times a second.
func callPartner(ctx context.Context, c *rueidisson.Client, call func(ctx context.Context) error) error {
	partner := c.RateLimiter("partner").For("eu", ratelimiter.WithRule(ratelimiter.PerSecond(10)))
	if err := partner.Wait(ctx); err != nil {
		return err // ctx would end before the turn
	}
	return call(ctx)
}

var errSpent = errors.New("the budget is spent")

// ask calls a language model, whose cost is known afterwards. An estimate is taken before, the difference after it.
func ask(ctx context.Context, c *rueidisson.Client, user string, model func(ctx context.Context) (tokens int64, err error)) error {
	const estimate = 200
	budget := c.RateLimiter("model").For(user, ratelimiter.WithRule(ratelimiter.PerMinute(1000)))
	d, err := budget.Take(ctx, estimate)
	switch {
	case err != nil:
		return err
	case !d.Allowed:
		return fmt.Errorf("%w, try again in %v", errSpent, d.RetryAfter)
	}
	tokens, err := model(ctx)
	return errors.Join(err, budget.Settle(ctx, estimate, tokens))
}

func Example_rateLimits() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	h, err := limited(ctx, c, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	check(err)
	answers := map[int]int{}
	for range 50 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		answers[w.Code]++
	}
	fmt.Println(answers[http.StatusOK] >= 10, answers[http.StatusTooManyRequests] > 0)

	fmt.Println(callPartner(ctx, c, func(context.Context) error { return nil }))
	fmt.Println(ask(ctx, c, "ann", func(context.Context) (int64, error) { return 900, nil }))
	fmt.Println(errors.Is(ask(ctx, c, "ann", nil), errSpent))
	// Output:
	// true true
	// <nil>
	// <nil>
	// true
}
