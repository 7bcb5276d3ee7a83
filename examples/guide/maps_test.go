package guide

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/multimap"
	"github.com/rueidisson/rueidisson/rmap"
)

type Session struct {
	User  string
	Pages int
}

// sessions expire when they were not used for half an hour. At most a million are kept: the least recently used is removed first.
func sessions(ctx context.Context, c *rueidisson.Client) (*rmap.Cache[string, Session], error) {
	all := rmap.NewCache[string, Session](c, "sessions", rmap.WithMaxIdle(30*time.Minute))
	return all, all.SetMaxSize(ctx, 1_000_000, rmap.LRU)
}

// visit counts a page of a session. No count is lost if several processes do so at the same time.
func visit(ctx context.Context, all *rmap.Cache[string, Session], id, user string) (Session, error) {
	s, _, err := all.Compute(ctx, id, func(s Session, had bool) (Session, rmap.Verdict, error) {
		if !had {
			s = Session{User: user}
		}
		s.Pages++
		return s, rmap.Store, nil // it may be called again: it must not have other effects
	})
	return s, err
}

// claim gives a name to the first user who wants it.
func claim(ctx context.Context, c *rueidisson.Client, name, user string) (owner string, err error) {
	owner, _, err = rmap.New[string, string](c, "names").PutIfAbsent(ctx, name, user)
	return owner, err
}

// follow adds a follower to a user, and returns how many there are.
func follow(ctx context.Context, c *rueidisson.Client, user, follower string) (int64, error) {
	followers := multimap.NewSet[string, string](c, "followers")
	if _, err := followers.Put(ctx, user, follower); err != nil {
		return 0, err
	}
	return followers.Count(ctx, user)
}

// codes are one-time codes for logins. The server deletes each after five minutes.
func codes(c *rueidisson.Client) *rmap.TTLMap[string, string] {
	return rmap.NewTTLMap[string, string](c, "codes", rmap.WithTTL(5*time.Minute))
}

// login takes the code of a user, so that it works once.
func login(ctx context.Context, c *rueidisson.Client, user, code string) (bool, error) {
	sent, found, err := codes(c).Take(ctx, user)
	return found && sent == code, err
}

// carts are spread over 64 slots of a cluster. All processes must use the same number.
func carts(c *rueidisson.Client) *rmap.Sharded[string, []string] {
	return rmap.NewSharded[string, []string](c, "carts", 64)
}

// addToCart adds a product to a cart, and returns the cart.
func addToCart(ctx context.Context, c *rueidisson.Client, user, product string) ([]string, error) {
	cart, _, err := carts(c).Compute(ctx, user, func(cart []string, _ bool) ([]string, rmap.Verdict, error) {
		return append(cart, product), rmap.Store, nil
	})
	return cart, err
}

func Example_maps() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	all, err := sessions(ctx, c)
	check(err)
	fmt.Println(visit(ctx, all, "s1", "ann"))
	fmt.Println(visit(ctx, all, "s1", "ann"))
	fmt.Println(claim(ctx, c, "tea", "ann"))
	fmt.Println(claim(ctx, c, "tea", "bob"))
	fmt.Println(follow(ctx, c, "ann", "bob"))
	// Output:
	// {ann 1} <nil>
	// {ann 2} <nil>
	// ann <nil>
	// ann <nil>
	// 1 <nil>
}

func Example_sharded() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	fmt.Println(addToCart(ctx, c, "ann", "tea"))
	fmt.Println(addToCart(ctx, c, "ann", "cup"))
	fmt.Println(carts(c).Len(ctx))
	_, _, err := rmap.NewSharded[string, []string](c, "carts", 32).Get(ctx, "ann") // another number
	fmt.Println(err)
	// Output:
	// [tea] <nil>
	// [tea cup] <nil>
	// 1 <nil>
	// get "ann" of sharded map "carts": invalid argument: it has 64 shards, and this handle was made for 32
}

// TestTTLMap needs a server that deletes entries: Redis 7.4 or Valkey 9.
func TestTTLMap(t *testing.T) {
	t.Parallel()
	c, err := rueidisson.Open(redistest.Shared(t, redistest.Version("8.0")).Addr())
	require.NoError(t, err)
	defer c.Close(context.Background())
	ctx := t.Context()
	_, err = codes(c).Delete(ctx)
	require.NoError(t, err)

	var out strings.Builder
	check(codes(c).Put(ctx, "ann", "4711"))
	left, err := codes(c).TTL(ctx, "ann")
	fmt.Fprintln(&out, left.Round(time.Minute), err)
	ok, err := login(ctx, c, "ann", "4711")
	fmt.Fprintln(&out, ok, err)
	ok, err = login(ctx, c, "ann", "4711") // it worked once
	fmt.Fprintln(&out, ok, err)
	require.Equal(t, `
5m0s <nil>
true <nil>
false <nil>
`, "\n"+out.String())
}
