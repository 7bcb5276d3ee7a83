package guide

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
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
