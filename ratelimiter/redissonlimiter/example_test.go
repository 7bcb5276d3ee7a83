package redissonlimiter_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

func Example() {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	defer s.Close()
	ctx := context.Background()
	c, err := rueidisson.New(s.ClientOption()) // such as rueidisson.Open("redis://127.0.0.1:6379")
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)

	mails := c.RedissonRateLimiter("mails") // in Java: redisson.getRateLimiter("mails")
	if err := mails.SetRate(ctx, redissonlimiter.Rate{Permits: 2, Interval: time.Hour}); err != nil {
		panic(err)
	}
	for range 3 {
		d, err := mails.Take(ctx, 1)
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter > 59*time.Minute, err)
	}
	// Output:
	// true 1 false <nil>
	// true 0 false <nil>
	// false 0 true <nil>
}
