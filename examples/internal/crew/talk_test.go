package crew

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// task is an order; one of another kind fails.
type task struct{ Kind string }

func (k *task) work(ctx context.Context, say *json.Encoder) error {
	_ = say.Encode("began " + k.Kind)
	if k.Kind == "bad" {
		return errors.New("no")
	}
	<-ctx.Done()
	_ = say.Encode("ended " + k.Kind)
	return ctx.Err() // which is no failure
}

// told is what a worker says.
func told(in io.Reader) (words []string, err error) {
	var out strings.Builder
	err = Work(in, &out, (*task).work, func(k *task, err error) any { return k.Kind + ": " + err.Error() })
	said := make(chan string, 10)
	Hear(said)(json.NewDecoder(strings.NewReader(out.String())))
	close(said)
	for word := range said {
		words = append(words, word)
	}
	return words, err
}

func TestWorkIsDoneUntilTheInputEnds(t *testing.T) {
	t.Parallel()
	words, err := told(strings.NewReader(`{"Kind":"good"}`))
	require.NoError(t, err)
	assert.Equal(t, []string{"began good", "ended good"}, words)

	_, err = told(strings.NewReader("what?"))
	require.ErrorContains(t, err, "no order")
}

func TestWorkThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	in, orders := io.Pipe()
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { // ends with orders
		ended <- Work(in, out, (*task).work, func(k *task, err error) any { return k.Kind + ": " + err.Error() })
	}()
	require.NoError(t, json.NewEncoder(orders).Encode(task{"bad"}))
	from := json.NewDecoder(said)
	for _, want := range []string{"began bad", "bad: no"} {
		var word string
		require.NoError(t, from.Decode(&word))
		assert.Equal(t, want, word)
	}
	require.NoError(t, orders.Close())
	require.NoError(t, <-ended)
}

func TestAllEndThoughNobodyHears(t *testing.T) {
	t.Parallel()
	said := make(chan string) // has no room
	var members []*Member
	for range 3 {
		m, err := Start(asEcho, io.Discard, Hear(said), nil)
		require.NoError(t, err)
		members = append(members, m)
	}
	for range 100 {
		require.NoError(t, members[0].Tell("word"))
	}
	EndAll(said, append(members, nil)...)
	for _, m := range members {
		require.Error(t, m.Tell("more"))
	}
}
