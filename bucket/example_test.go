package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/embedded"
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

type Price struct {
	Cents int
}

func Example() {
	c, stop := exampleClient() // such as rueidisson.Open("redis://127.0.0.1:6379")
	defer stop()
	ctx := context.Background()

	price := bucket.New[Price](c, "price:42")
	fmt.Println(price.Get(ctx))
	if err := price.Set(ctx, Price{350}, bucket.WithTTL(time.Hour)); err != nil {
		panic(err)
	}
	fmt.Println(price.Get(ctx))
	fmt.Println(price.Swap(ctx, Price{400}, bucket.WithKeepTTL()))
	// Output:
	// {0} false <nil>
	// {350} true <nil>
	// {350} true <nil>
}

// A price is raised by one step, however many do so. The function may be called again.
func ExampleBucket_Update() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	tooHigh := errors.New("too high")
	price := bucket.New[Price](c, "price:42")
	for range 3 {
		now, _, err := price.Update(ctx, func(old Price, _ bool) (Price, bucket.Verdict, error) {
			if old.Cents >= 200 {
				return old, bucket.Keep, tooHigh
			}
			return Price{old.Cents + 100}, bucket.Store, nil
		})
		switch {
		case errors.Is(err, tooHigh):
			fmt.Println(err)
		case errors.Is(err, bucket.ErrOutcomeUnknown): // it may have been raised: read it
			fmt.Println("look again")
		case err != nil:
			panic(err)
		default:
			fmt.Println(now.Cents)
		}
	}
	// Output:
	// 100
	// 200
	// update bucket "price:42": too high
}

// The process that knows the present state goes on from there.
func ExampleBucket_CompareAndSwap() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	state := bucket.New[string](c, "order:7")
	fmt.Println(state.SetIfAbsent(ctx, "paid"))
	fmt.Println(state.CompareAndSwap(ctx, "paid", "sent"))
	fmt.Println(state.CompareAndSwap(ctx, "paid", "cancelled"))
	fmt.Println(state.Take(ctx))
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
	// sent true <nil>
}

// What another codec has written is an error that has the bytes.
func ExampleBucket_Get() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	if err := bucket.New[string](c, "limit", bucket.WithCodec(codec.Text)).Set(ctx, "ten"); err != nil {
		panic(err)
	}
	_, there, err := bucket.New[int](c, "limit", bucket.WithCodec(codec.Text)).Get(ctx)
	undecoded := new(codec.DecodeError)
	if errors.As(err, &undecoded) {
		fmt.Println(there, undecoded.Name, string(undecoded.Bytes))
	}
	fmt.Println(errors.Is(err, bucket.ErrDecode))
	// Output:
	// true limit ten
	// true
}

// All of the buckets are written, or none.
func ExampleMany_SetAllIfAbsent() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	seats := bucket.NewMany[string](c)
	fmt.Println(seats.SetAllIfAbsent(ctx, map[string]string{"{show}:1A": "ann", "{show}:1B": "ann"}))
	fmt.Println(seats.SetAllIfAbsent(ctx, map[string]string{"{show}:1B": "bob", "{show}:1C": "bob"}))
	fmt.Println(seats.Get(ctx, "{show}:1A", "{show}:1B", "{show}:1C"))
	// Output:
	// true <nil>
	// false <nil>
	// map[{show}:1A:ann {show}:1B:ann] <nil>
}

// Bytes are read and written as a file is.
func ExampleBytes() {
	c, stop := exampleClient()
	defer stop()
	ctx := context.Background()

	file := bucket.NewBytes(c, "notes")
	fmt.Fprintln(file.Writer(ctx), "first")
	fmt.Fprintln(file.Writer(ctx), "second")
	if _, err := file.WriteAt(ctx, []byte("F"), 0); err != nil {
		panic(err)
	}
	if _, err := io.Copy(os.Stdout, file.Reader(ctx)); err != nil {
		panic(err)
	}
	n, err := file.ReadAt(ctx, make([]byte, 100), 6)
	fmt.Println(n, err)
	// Output:
	// First
	// second
	// 7 EOF
}
