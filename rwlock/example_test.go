package rwlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rwlock"
)

// connect returns a client, on a server that stands for the one a program has.
func connect() (c *rueidisson.Client, stop func()) {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	c, err = rueidisson.Open(s.URL()) // such as "redis://127.0.0.1:6379"
	if err != nil {
		panic(err)
	}
	return c, func() {
		_ = c.Close(context.Background())
		s.Close()
	}
}

// Many read a document at once; who writes it is alone.
func ExampleLock() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()
	doc := c.RWLock("doc:7")

	first, err := doc.Read().Lock(ctx)
	if err != nil {
		panic(err)
	}
	second, err := doc.Read().Lock(ctx)
	if err != nil {
		panic(err)
	}
	_, err = doc.Write().TryLock(ctx)
	fmt.Println("two read, and a writer is told:", errors.Is(err, lock.ErrNotAcquired))
	fmt.Println(first.Unlock(ctx), second.Unlock(ctx))

	err = lock.Do(ctx, doc.Write(), func(context.Context) error {
		_, err := doc.Read().TryLock(ctx)
		fmt.Println("one writes, and a reader is told:", errors.Is(err, lock.ErrNotAcquired))
		return nil
	})
	fmt.Println(err)
	// Output:
	// two read, and a writer is told: true
	// <nil> <nil>
	// one writes, and a reader is told: true
	// <nil>
}

// Whoever has written may go on reading what it wrote, and let other readers in.
func ExampleLock_Read_downgrade() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()
	doc := c.RWLock("doc:7")

	write, err := doc.Write().Lock(ctx)
	if err != nil {
		panic(err)
	}
	read, err := doc.Read().Lock(write.Context(ctx))
	if err != nil {
		panic(err)
	}
	fmt.Println(write.Unlock(ctx)) // from here on it reads, with others
	fmt.Println("still there:", read.Err() == nil)
	other, err := doc.Read().TryLock(ctx)
	fmt.Println("another reader:", err)
	fmt.Println(read.Unlock(ctx), other.Unlock(ctx))
	// Output:
	// <nil>
	// still there: true
	// another reader: <nil>
	// <nil> <nil>
}

// A read hold does not become a write hold.
func ExampleErrUpgrade() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()
	doc := c.RWLock("doc:7")

	read, err := doc.Read().Lock(ctx)
	if err != nil {
		panic(err)
	}
	_, err = doc.Write().Lock(read.Context(ctx))
	fmt.Println(errors.Is(err, rwlock.ErrUpgrade))
	fmt.Println(read.Unlock(ctx))
	// Output:
	// true
	// <nil>
}

// Writers that may wait for as long as others read.
func ExampleWithReaderPreference() {
	c, stop := connect()
	defer stop()
	prices := c.RWLock("prices", rwlock.WithReaderPreference())
	err := lock.Do(context.Background(), prices.Write(), func(context.Context) error {
		fmt.Println("new prices")
		return nil
	})
	fmt.Println(err)
	// Output:
	// new prices
	// <nil>
}
