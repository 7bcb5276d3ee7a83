package guide

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bloom"
)

// crawled returns the filter of pages that were read. Every process calls it when it starts.
func crawled(ctx context.Context, c *rueidisson.Client) (*bloom.Filter[string], error) {
	pages := bloom.New[string](c, "crawled")
	_, err := pages.Init(ctx, 1_000_000, 0.001)
	return pages, err
}

// unread returns those of some links that were certainly not read yet, and notes them as read.
func unread(ctx context.Context, pages *bloom.Filter[string], links ...string) (next []string, err error) {
	fresh, err := pages.AddNew(ctx, links...)
	for i, is := range fresh {
		if is {
			next = append(next, links[i])
		}
	}
	return next, err
}

// known skips the database for a user that was certainly never added.
func known(ctx context.Context, users *bloom.Filter[int64], id int64, look func(id int64) (bool, error)) (bool, error) {
	if has, err := users.Has(ctx, id); err != nil || !has {
		return false, err
	}
	return look(id)
}

func Example_bloom() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	pages, err := crawled(ctx, c)
	check(err)
	fmt.Println(unread(ctx, pages, "/", "/about"))
	fmt.Println(unread(ctx, pages, "/about", "/news"))
	fmt.Println(pages.Count(ctx))

	users := bloom.New[int64](c, "users")
	_, err = users.Init(ctx, 1000, 0.01)
	check(err)
	check(users.Add(ctx, 7))
	look := func(int64) (bool, error) { fmt.Println("the database is asked"); return true, nil }
	fmt.Println(known(ctx, users, 8, look))
	fmt.Println(known(ctx, users, 7, look))

	_, err = bloom.New[string](c, "crawled").Init(ctx, 2_000_000, 0.001)
	fmt.Println(err)
	// Output:
	// [/ /about] <nil>
	// [/news] <nil>
	// 3 <nil>
	// false <nil>
	// the database is asked
	// true <nil>
	// init bloom filter "crawled": the filter has another shape: it has n=1000000 p=0.001 (m=14377587 k=10), and was to have n=2000000 p=0.001 (m=28755175 k=10): Delete removes it
}
