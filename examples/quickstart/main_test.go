package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func Example() {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	defer s.Close()
	fmt.Println(run(context.Background(), s.URL()))
	// Output:
	// bill order 42
	// mail to ann
	// <nil>
}
