package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeJava is the other end of a conn: the test reads requests from it and writes answers.
type fakeJava struct {
	requests *bufio.Reader
	answers  io.WriteCloser
}

func newFakeJava(t *testing.T) (*conn, *fakeJava) {
	requestReader, requestWriter := io.Pipe()
	answerReader, answerWriter := io.Pipe()
	c := newConn(requestWriter)
	var reading sync.WaitGroup
	reading.Go(func() { c.read(answerReader) })
	t.Cleanup(func() {
		answerWriter.Close()
		requestReader.Close()
		reading.Wait()
	})
	return c, &fakeJava{requests: bufio.NewReader(requestReader), answers: answerWriter}
}

// next is the id and the rest of the next request.
func (f *fakeJava) next(t *testing.T) (id, rest string) {
	line, err := f.requests.ReadString('\n')
	require.NoError(t, err)
	id, rest, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	return id, rest
}

func (f *fakeJava) say(format string, args ...any) { fmt.Fprintf(f.answers, format+"\n", args...) }

type outcome struct {
	reply Reply
	err   error
}

func async(ctx context.Context, c *conn, words ...string) <-chan outcome {
	ch := make(chan outcome, 1)
	go func() {
		reply, err := c.do(ctx, words)
		ch <- outcome{reply, err}
	}()
	return ch
}

func TestAnswersFindTheirCallersInAnyOrder(t *testing.T) {
	t.Parallel()
	c, java := newFakeJava(t)
	calls := map[string]<-chan outcome{}
	ids := map[string]string{}
	for _, word := range []string{"a", "b", "c"} {
		calls[word] = async(t.Context(), c, word)
		id, rest := java.next(t)
		require.Equal(t, word, rest)
		ids[word] = id
	}
	for _, word := range []string{"c", "a", "b"} {
		java.say("%s ok for-%s", ids[word], word)
		require.Equal(t, outcome{reply: Reply{{Text: "for-" + word}}}, <-calls[word])
	}
}

func TestAnExceptionIsAJavaError(t *testing.T) {
	t.Parallel()
	c, java := newFakeJava(t)
	call := async(t.Context(), c, "x")
	id, _ := java.next(t)
	java.say("%s err java.lang.IllegalStateException not+now", id)
	got := <-call
	require.Equal(t, "IllegalStateException", Thrown(got.err))
	require.ErrorContains(t, got.err, "not now")
	require.Empty(t, Thrown(errors.New("another")))
}

func TestACancelledCallDoesNotDisturbTheNext(t *testing.T) {
	t.Parallel()
	c, java := newFakeJava(t)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	first := async(ctx, c, "first")
	late, _ := java.next(t)
	cancel(gone)
	require.ErrorIs(t, (<-first).err, gone)

	second := async(t.Context(), c, "second")
	id, _ := java.next(t)
	java.say("%s ok late", late)
	java.say("%s ok right", id)
	require.Equal(t, Reply{{Text: "right"}}, (<-second).reply)
}

func TestCallsEndWithTheJVM(t *testing.T) {
	t.Parallel()
	c, java := newFakeJava(t)
	call := async(t.Context(), c, "x")
	java.next(t)
	java.answers.Close()
	require.ErrorIs(t, (<-call).err, ErrEnded)
	require.ErrorIs(t, (<-c.ready).err, ErrEnded)
	_, err := c.do(t.Context(), []string{"later"})
	require.ErrorIs(t, err, ErrEnded)
}

func TestALineThatIsNoAnswerEndsTheConversation(t *testing.T) {
	t.Parallel()
	c, java := newFakeJava(t)
	call := async(t.Context(), c, "x")
	java.next(t)
	java.say("Exception in thread main")
	java.say("more of it") // must not block
	require.ErrorContains(t, (<-call).err, "is no answer")
}

func TestTheFirstLineIsKept(t *testing.T) {
	t.Parallel()
	c, java := newFakeJava(t)
	java.say("ready id 4.7.0")
	java.say("ready other 1.0.0") // must neither block nor replace it
	java.say("ready other 1.0.0")
	require.Equal(t, "id", (<-c.ready).reply[0].Text)
}
