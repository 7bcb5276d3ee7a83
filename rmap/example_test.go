package rmap_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/rmap"
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

type Product struct {
	Name  string
	Price int
}

func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	products := rmap.New[int, Product](c, "products")
	if err := products.Put(ctx, 42, Product{"tea", 3}); err != nil {
		panic(err)
	}
	fmt.Println(products.Get(ctx, 42))
	fmt.Println(products.Get(ctx, 43))
	// Output:
	// {tea 3} true <nil>
	// { 0} false <nil>
}

// A piece of the stock is sold once, however many ask.
func ExampleMap_Compute() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	soldOut := errors.New("sold out")
	stock := rmap.New[string, int](c, "stock")
	if err := stock.Put(ctx, "tea", 2); err != nil {
		panic(err)
	}
	for range 3 {
		left, _, err := stock.Compute(ctx, "tea", func(left int, _ bool) (int, rmap.Verdict, error) {
			if left == 0 {
				return 0, rmap.Keep, soldOut
			}
			return left - 1, rmap.Store, nil
		})
		switch {
		case errors.Is(err, soldOut):
			fmt.Println("sold out")
		case errors.Is(err, rmap.ErrOutcomeUnknown): // it may have been sold: see WithRequestIDs
			fmt.Println("ask again")
		case err != nil:
			panic(err)
		default:
			fmt.Println("left:", left)
		}
	}
	// Output:
	// left: 1
	// left: 0
	// sold out
}

// What another codec has written is named, and is not taken for something else.
func ExampleMap_Get() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	text := rmap.New[string, string](c, "settings", rmap.WithCodec(codec.Text))
	if err := text.Put(ctx, "theme", "dark"); err != nil {
		panic(err)
	}
	_, there, err := rmap.New[string, Product](c, "settings").Get(ctx, "theme")
	var undecoded *codec.DecodeError
	fmt.Println(there, errors.As(err, &undecoded), undecoded.Key)
	// Output:
	// true true theme
}

// Keys of text can be chosen by a pattern, and numbers be added to.
func ExampleMap_All() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	visits := rmap.New[string, int](c, "visits", rmap.WithCodec(codec.Text))
	for _, page := range []string{"shop:tea", "about", "shop:tea"} {
		if _, err := rmap.Add(ctx, visits, page, 1); err != nil {
			panic(err)
		}
	}
	for entry, err := range visits.All(ctx, rmap.WithMatch("shop:*")) {
		if err != nil {
			panic(err) // the rest is not read, unless it is a rueidisson.ErrNotice
		}
		fmt.Println(entry.Key, entry.Value)
	}
	// Output:
	// shop:tea 2
}

// Entries that the server lets go need a server that can.
func ExampleTTLMap() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	sessions := rmap.NewTTLMap[string, string](c, "sessions", rmap.WithTTL(30*time.Minute))
	err := sessions.Put(ctx, "s1", "bob")
	fmt.Println(errors.Is(err, errors.ErrUnsupported)) // before Redis 7.4 and Valkey 9
	// Output:
	// true
}

// A page is kept for a minute, and not rendered again meanwhile.
func ExampleCache() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	pages := rmap.NewCache[string, string](c, "pages", rmap.WithTTL(time.Minute))
	if err := pages.SetMaxSize(ctx, 10_000, rmap.LRU); err != nil {
		panic(err)
	}
	now, stored, err := pages.PutIfAbsent(ctx, "/tea", "<h1>tea</h1>")
	fmt.Println(now, stored, err)
	now, stored, err = pages.PutIfAbsent(ctx, "/tea", "<h1>another</h1>", rmap.WithMaxIdle(time.Second))
	fmt.Println(now, stored, err)

	err = pages.Put(ctx, "/coffee", "<h1>coffee</h1>", rmap.WithTTL(time.Microsecond))
	fmt.Println(errors.Is(err, rmap.ErrInvalidArgument))
	// Output:
	// <h1>tea</h1> true <nil>
	// <h1>tea</h1> false <nil>
	// true
}

// What happens to the entries, whoever does it.
func ExampleCache_Events() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	sessions := rmap.NewCache[string, int](c, "sessions")
	events := sessions.Events(ctx, rmap.Created, rmap.Expired)
	if err := sessions.Put(ctx, "ada", 1, rmap.WithMaxIdle(50*time.Millisecond)); err != nil {
		panic(err)
	}
	for ev, err := range events {
		if err != nil {
			panic(err)
		}
		fmt.Println(ev.Kind, ev.Key, ev.Value)
		if ev.Kind == rmap.Expired {
			break
		}
	}
	// Output:
	// created ada 1
	// expired ada 1
}

// The hashes of a sharded map are on all servers of a cluster.
func ExampleSharded() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	sessions := rmap.NewSharded[string, string](c, "sessions", 64)
	if err := sessions.PutMany(ctx, map[string]string{"s1": "ann", "s2": "bob"}); err != nil {
		panic(err)
	}
	fmt.Println(sessions.Get(ctx, "s1"))
	fmt.Println(sessions.Len(ctx))

	_, _, err := rmap.NewSharded[string, string](c, "sessions", 32).Get(ctx, "s1")
	fmt.Println(err)
	// Output:
	// ann true <nil>
	// 2 <nil>
	// get "s1" of sharded map "sessions": invalid argument: it has 64 shards, and this handle was made for 32
}
