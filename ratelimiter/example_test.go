package ratelimiter_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// exampleClient is a client of the Redis or Valkey that a program has.
func exampleClient() (c *rueidisson.Client, stop func()) {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	if c, err = rueidisson.New(s.ClientOption()); err != nil {
		panic(err)
	}
	return c, func() {
		c.Close(context.Background())
		s.Close()
	}
}

func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	api := c.RateLimiter("api")
	if _, _, err := api.TrySetRate(ctx, ratelimiter.PerMinute(2)); err != nil {
		panic(err)
	}
	for range 3 {
		ok, err := api.For("user:42").Allow(ctx)
		fmt.Println(ok, err)
	}
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}

func ExampleBucket_Take() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	api := c.RateLimiter("api")
	if err := api.SetRate(ctx, ratelimiter.PerHour(60).WithBurst(10)); err != nil {
		panic(err)
	}
	d, err := api.Take(ctx, 8)
	fmt.Println(d.Allowed, d.Remaining, err)
	d, err = api.Take(ctx, 8)
	fmt.Println(d.Allowed, d.Remaining, d.RetryAfter.Round(time.Minute), d.ResetAfter.Round(time.Minute), err)
	_, err = api.Take(ctx, 11)
	fmt.Println(err)
	// Output:
	// true 2 <nil>
	// false 2 6m0s 8m0s <nil>
	// rate limiter "api": take: more than the burst: 11 tokens of 60/h burst 10
}

func ExampleBucket_TakeUpTo() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	mails := c.RateLimiter("mails")
	if err := mails.SetRate(ctx, ratelimiter.PerHour(5)); err != nil {
		panic(err)
	}
	for left := int64(8); left > 0; {
		n, d, err := mails.TakeUpTo(ctx, left) // how many of them may go now
		if left -= n; err != nil || n == 0 {
			fmt.Println(left, "wait for", d.RetryAfter.Round(time.Minute), err)
			break
		}
		fmt.Println("sending", n)
	}
	// Output:
	// sending 5
	// 3 wait for 12m0s <nil>
}

func ExampleWithRuleTTL() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	tenant := c.RateLimiter("tenant:7")
	_, created, err := tenant.TrySetRate(ctx, ratelimiter.PerSecond(5), ratelimiter.WithRuleTTL(30*24*time.Hour))
	fmt.Println(created, err)
	ttl, err := tenant.RuleTTL(ctx)
	fmt.Println(ttl, err)
	// Output:
	// true <nil>
	// 720h0m0s <nil>
}

func ExampleBucket_Wait() {
	c, stop := exampleClient()
	defer stop()

	mails := c.RateLimiter("mails")
	if err := mails.SetRate(context.Background(), ratelimiter.PerHour(1)); err != nil {
		panic(err)
	}
	fmt.Println(mails.Wait(context.Background()))

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := mails.Wait(ctx) // does not wait for a minute to find out
	fmt.Println(err != nil, ctx.Err())
	// Output:
	// <nil>
	// true <nil>
}

func ExampleBucket_Settle() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	// Tokens of a model: how many an answer takes is known afterwards.
	tokens := c.RateLimiter("tokens").For("tenant:7", ratelimiter.WithRule(ratelimiter.PerHour(10_000)))
	const guess = 2_000
	if d, err := tokens.Take(ctx, guess); err != nil || !d.Allowed {
		panic(err)
	}
	fmt.Println(tokens.Settle(ctx, guess, 1_500))
	d, err := tokens.Peek(ctx)
	fmt.Println(d.Remaining/100*100, err)
	// Output:
	// <nil>
	// 8500 <nil>
}

func ExampleAll() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	perSecond, perDay := c.RateLimiter("per second"), c.RateLimiter("per day")
	if err := perSecond.SetRate(ctx, ratelimiter.PerSecond(100)); err != nil {
		panic(err)
	}
	if err := perDay.SetRate(ctx, ratelimiter.Every(3, 24*time.Hour)); err != nil {
		panic(err)
	}
	both := ratelimiter.All(perSecond, perDay).For("user:42")
	for range 4 {
		d, err := both.Take(ctx, 1)
		fmt.Println(d.Allowed, d.Rate, d.Remaining, err)
	}
	// Output:
	// true 3/d burst 3 2 <nil>
	// true 3/d burst 3 1 <nil>
	// true 3/d burst 3 0 <nil>
	// false 3/d burst 3 0 <nil>
}

// A plan of the user's own in one of several limits, and what was not needed
// given back to all.
func ExampleCombined_RefundEach() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	requests, tokens := c.RateLimiter("requests"), c.RateLimiter("tokens")
	if err := requests.SetRate(ctx, ratelimiter.PerHour(100)); err != nil {
		panic(err)
	}
	const user, guess = "user:42", 2_000
	plan := ratelimiter.WithRule(ratelimiter.PerHour(10_000))
	both := ratelimiter.All(requests.For(user), tokens.For(user, plan))
	d, err := both.TakeEach(ctx, 1, guess)
	fmt.Println(d.Allowed, d.Members[0].Remaining, d.Members[1].Remaining, err)

	fmt.Println(both.RefundEach(ctx, 1, guess)) // the request was not made
	d, err = both.Peek(ctx)
	fmt.Println(d.Allowed, d.Members[0].Remaining, d.Members[1].Remaining, err)
	// Output:
	// true 99 8000 <nil>
	// <nil>
	// true 100 10000 <nil>
}
