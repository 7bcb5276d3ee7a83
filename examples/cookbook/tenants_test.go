package cookbook

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// plans are what tenants pay for.
var plans = map[string]ratelimiter.Rate{
	"free": ratelimiter.PerMinute(2),
	"pro":  ratelimiter.PerSecond(100),
}

// admit decides about a request of a tenant: within its plan, and within what all tenants together may have.
func admit(ctx context.Context, c *rueidisson.Client, tenant, plan string) (ratelimiter.AllDecision, error) {
	own := c.RateLimiter("{api}:tenant").For(tenant, ratelimiter.WithRule(plans[plan]))
	all := c.RateLimiter("{api}:all").For("all", ratelimiter.WithRule(ratelimiter.PerSecond(1000)))
	return ratelimiter.All(own, all).Take(ctx, 1)
}

func Example_perTenantLimits() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	for _, tenant := range []string{"ann", "ann", "ann", "bob"} {
		d, err := admit(ctx, c, tenant, "free")
		fmt.Println(tenant, d.Allowed, err)
	}
	// Output:
	// ann true <nil>
	// ann true <nil>
	// ann false <nil>
	// bob true <nil>
}
