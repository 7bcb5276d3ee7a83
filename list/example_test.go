package list_test

import (
	"context"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/list"
)

// exampleClient returns a client of the Redis or Valkey that a program has.
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

	songs := list.New[string](c, "playlist:42")
	fmt.Println(songs.Append(ctx, "first", "last"))
	fmt.Println(songs.Insert(ctx, 1, "between"))
	fmt.Println(songs.Insert(ctx, 9, "nowhere"))
	for song, err := range songs.All(ctx) {
		fmt.Println(song, err)
	}
	// Output:
	// 2 <nil>
	// true <nil>
	// false <nil>
	// first <nil>
	// between <nil>
	// last <nil>
}

// The element that is returned is the one that was removed, however equal others are.
func ExampleList_RemoveAt() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	steps := list.New[string](c, "steps")
	if _, err := steps.Append(ctx, "stir", "wait", "stir"); err != nil {
		panic(err)
	}
	fmt.Println(steps.RemoveAt(ctx, -1))
	fmt.Println(steps.RemoveAt(ctx, 5))
	fmt.Println(steps.Range(ctx, 0, -1))
	// Output:
	// stir true <nil>
	//  false <nil>
	// [stir wait] <nil>
}

// All that are equal are removed, and counted.
func ExampleList_Remove() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	votes := list.New[string](c, "votes")
	if _, err := votes.Append(ctx, "yes", "no", "yes"); err != nil {
		panic(err)
	}
	fmt.Println(votes.Index(ctx, "no"))
	fmt.Println(votes.Remove(ctx, "yes", 0))
	fmt.Println(votes.Len(ctx))
	// Output:
	// 1 true <nil>
	// 2 <nil>
	// 1 <nil>
}
