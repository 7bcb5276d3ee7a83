package guide

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/set"
)

// followed has a user follow another one, and reports whether that is new.
func followed(ctx context.Context, c *rueidisson.Client, user, other string) (bool, error) {
	n, err := set.New[string](c, "follows:"+user).Add(ctx, other)
	return n == 1, err
}

// shared returns whom both users follow.
func shared(ctx context.Context, c *rueidisson.Client, a, b string) (both []string, err error) {
	for user, err := range set.New[string](c, "follows:"+a).Inter(ctx, "follows:"+b) {
		if err != nil {
			return nil, err
		}
		both = append(both, user)
	}
	slices.Sort(both)
	return both, nil
}

// first reports whether nobody has handled a message in the last hour.
func first(ctx context.Context, c *rueidisson.Client, message string) (bool, error) {
	return set.NewCache[string](c, "handled", set.WithTTL(time.Hour)).AddIfAbsent(ctx, message)
}

func Example_sets() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	fmt.Println(followed(ctx, c, "ann", "cleo"))
	fmt.Println(followed(ctx, c, "ann", "dan"))
	fmt.Println(followed(ctx, c, "bob", "cleo"))
	fmt.Println(followed(ctx, c, "bob", "cleo"))
	fmt.Println(shared(ctx, c, "ann", "bob"))
	fmt.Println(first(ctx, c, "m1"))
	fmt.Println(first(ctx, c, "m1"))
	// Output:
	// true <nil>
	// true <nil>
	// true <nil>
	// false <nil>
	// [cleo] <nil>
	// true <nil>
	// false <nil>
}
