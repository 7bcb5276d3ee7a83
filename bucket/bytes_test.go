package bucket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// bytesOf returns n bytes that are all kinds.
func bytesOf(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rand.N(256))
	}
	return p
}

// TestBytesAreAFile: the readers pass what the standard library asks of readers.
func TestBytesAreAFile(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		b := NewBytes(enginetest.On(t, raw), fresh(t, raw))
		require.NoError(t, iotest.TestReader(b.Reader(t.Context()), nil), "there is none")
		for _, n := range []int{1, 100, piece - 1, piece, piece + 1, 3*piece + 7} {
			want := bytesOf(n)
			_, err := b.Truncate(t.Context(), 0)
			require.NoError(t, err)
			wrote, err := io.Copy(b.Writer(t.Context()), io.MultiReader(bytes.NewReader(want[:n/3]), iotest.OneByteReader(bytes.NewReader(want[n/3:n/3+min(n/2, 300)])), bytes.NewReader(want[n/3+min(n/2, 300):])))
			require.NoError(t, err)
			require.Equal(t, int64(n), wrote)
			if n <= 100 {
				require.NoError(t, iotest.TestReader(b.Reader(t.Context()), want))
			}
			got, err := io.ReadAll(b.Reader(t.Context()))
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got))
			var to bytes.Buffer
			copied, err := io.Copy(&to, b.Reader(t.Context()))
			require.NoError(t, err)
			require.Equal(t, int64(n), copied)
			require.True(t, bytes.Equal(want, to.Bytes()))
			size, err := b.Size(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(n), size)
		}
	})
}

// TestBytesAgainstAModel does the same to bytes of the process.
func TestBytesAgainstAModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		b, ctx := NewBytes(enginetest.On(t, raw), fresh(t, raw)), t.Context()
		var model []byte
		there := false
		for range redistest.Count(t, 150, 5000) {
			p := bytesOf(rand.N(rand.N(1000) + 1))
			switch off := rand.N(len(model) + 50); rand.N(5) {
			case 0:
				size, err := b.Append(ctx, p)
				require.NoError(t, err)
				model = append(model, p...)
				require.Equal(t, int64(len(model)), size)
				there = there || len(p) > 0
			case 1:
				n, err := b.WriteAt(ctx, p, int64(off))
				require.NoError(t, err)
				require.Equal(t, len(p), n)
				if len(p) > 0 {
					there = true
					model = append(model, make([]byte, max(0, off+len(p)-len(model)))...)
					copy(model[off:], p)
				}
			case 2:
				size, err := b.Truncate(ctx, int64(off))
				require.NoError(t, err)
				model = model[:min(off, len(model))]
				require.Equal(t, int64(len(model)), size)
			case 3:
				got := make([]byte, len(p))
				n, err := b.ReadAt(ctx, got, int64(off))
				require.Equal(t, min(len(p), max(0, len(model)-off)), n)
				require.Equal(t, n < len(p), err == io.EOF, "%v", err)
				require.True(t, bytes.Equal(model[min(off, len(model)):min(off+n, len(model))], got[:n]))
			case 4:
				if there && rand.N(2) == 0 {
					_, err := b.Expire(ctx, hour)
					require.NoError(t, err)
				} else {
					_, err := b.Persist(ctx)
					require.NoError(t, err)
				}
			}
			exists, err := b.Exists(ctx)
			require.NoError(t, err)
			require.Equal(t, there, exists)
		}
		got, err := io.ReadAll(b.Reader(ctx))
		require.NoError(t, err)
		require.True(t, bytes.Equal(model, got))
	})
}

// TestBytesKeepTheirTime whatever is written.
func TestBytesKeepTheirTime(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		b, ctx := NewBytes(enginetest.On(t, raw), fresh(t, raw)), t.Context()
		old(t, raw, b.Name())
		_, err := b.Append(ctx, []byte("er"))
		require.NoError(t, err)
		_, err = b.WriteAt(ctx, []byte("st"), 3)
		require.NoError(t, err)
		require.Equal(t, "oldst hour", state(t, raw, b.Name()))
		for _, n := range []int64{9, 5, 2} {
			_, err = b.Truncate(ctx, n)
			require.NoError(t, err)
		}
		require.Equal(t, "ol hour", state(t, raw, b.Name()))
		_, err = b.Truncate(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, " hour", state(t, raw, b.Name()), "it is there, and empty")
	})
}

// TestBytesSeek as a file does.
func TestBytesSeek(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	b := NewBytes(enginetest.On(t, raw), fresh(t, raw))
	_, err := b.Append(t.Context(), []byte("0123456789"))
	require.NoError(t, err)
	r := b.Reader(t.Context())
	for _, c := range []struct {
		offset int64
		whence int
		at     int64
		reads  string
	}{
		{3, io.SeekStart, 3, "345"}, {1, io.SeekCurrent, 7, "789"}, {-2, io.SeekEnd, 8, "89"}, {5, io.SeekEnd, 15, ""}, {-15, io.SeekCurrent, 0, "012"},
	} {
		at, err := r.Seek(c.offset, c.whence)
		require.NoError(t, err)
		require.Equal(t, c.at, at)
		p := make([]byte, 3)
		n, err := r.Read(p)
		require.Equal(t, c.reads, string(p[:n]))
		require.Equal(t, c.reads == "", err == io.EOF)
	}
	for _, c := range [][2]int64{{-4, io.SeekCurrent}, {-11, io.SeekEnd}, {-1, io.SeekStart}, {0, 7}, {1<<63 - 1, io.SeekEnd}} {
		_, err := r.Seek(c[0], int(c[1]))
		require.ErrorIs(t, err, ErrInvalidArgument, c)
	}
}

// TestBytesAreTheStringOfABucket without a codec.
func TestBytesAreTheStringOfABucket(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	k := kitOn(enginetest.On(t, raw), fresh(t, raw))
	require.NoError(t, k.b.Set(t.Context(), "hello"))
	got, err := io.ReadAll(k.bytes.Reader(t.Context()))
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
	_, err = io.WriteString(k.bytes.Writer(t.Context()), " world")
	require.NoError(t, err)
	v, _, err := k.b.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, "hello world", v)
}

// TestALostConnectionIsNoEnd: a reader that is cut off does not take that for the end of the bytes.
func TestALostConnectionIsNoEnd(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, proxy := redistest.ThroughProxy(t, server)
	b := NewBytes(enginetest.On(t, client, enginetest.ShortSends), "b")
	_, err := b.Append(t.Context(), bytesOf(2*piece))
	require.NoError(t, err)
	proxy.Answer(redistest.Command("GETRANGE"), "ERR no")
	for what, read := range map[string]func() error{
		"all":   func() error { _, err := io.ReadAll(b.Reader(t.Context())); return err },
		"copy":  func() error { _, err := io.Copy(io.Discard, b.Reader(t.Context())); return err },
		"at":    func() error { _, err := b.ReadAt(t.Context(), make([]byte, 5), 0); return err },
		"piece": func() error { _, err := b.Reader(t.Context()).Read(make([]byte, 5)); return err },
	} {
		require.ErrorContains(t, read(), ": no", what)
		require.NotErrorIs(t, read(), io.EOF, what)
	}
	err = notTheEnd{errors.Join(io.EOF, ErrClosed, &codec.DecodeError{})}
	require.NotErrorIs(t, err, io.EOF)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorAs(t, err, new(*codec.DecodeError))
}

// TestBytesTellHowManyWereWritten when a piece is lost, or refused.
func TestBytesTellHowManyWereWritten(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	raw := server.Client(t)
	e := enginetest.Plain(t, client)
	second := func(command, name string) redistest.Match {
		n := 0
		return redistest.All(redistest.Command(command), redistest.Arg(name), func([]string) bool { n++; return n == 2 })
	}
	b := NewBytes(e, fresh(t, raw))
	lost := proxy.DropReply(second("APPEND", b.Name()), 1)
	p := bytesOf(3 * piece)
	n, err := b.Writer(t.Context()).Write(p)
	lost.Await(t)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.Equal(t, piece, n)
	size, err := b.Size(t.Context())
	require.NoError(t, err)
	require.Contains(t, []int64{piece, 2 * piece}, size, "and no more was sent")

	b = NewBytes(e, fresh(t, raw))
	proxy.Answer(second("SETRANGE", b.Name()), "ERR no")
	n, err = b.WriteAt(t.Context(), p, 0)
	require.ErrorContains(t, err, ": no")
	require.Equal(t, piece, n)

	b = NewBytes(e, fresh(t, raw))
	copied, err := io.Copy(b.Writer(t.Context()), io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "what is cut off is not whole")
	require.Equal(t, int64(3), copied)
	_, err = io.Copy(writerOf(1), NewBytes(e, b.Name()).Reader(t.Context()))
	require.ErrorIs(t, err, io.ErrShortWrite)
}

// writerOf writes so many bytes at most, and says nothing.
type writerOf int

func (w writerOf) Write(p []byte) (int, error) { return min(len(p), int(w)), nil }

// TestNoPieceIsLong: neither requests nor answers.
func TestNoPieceIsLong(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	c := &redistest.Weighed{Client: raw}
	b := NewBytes(enginetest.Plain(t, c), fresh(t, raw))
	want := bytesOf(5 << 20)
	_, err := b.Append(t.Context(), want)
	require.NoError(t, err)
	_, err = b.WriteAt(t.Context(), want, 100)
	require.NoError(t, err)
	got := make([]byte, len(want)+100)
	n, err := b.ReadAt(t.Context(), got, 0)
	require.NoError(t, err)
	require.Equal(t, len(got), n)
	require.True(t, bytes.Equal(want, got[100:]))
	require.LessOrEqual(t, c.Most.Load(), int64(piece+100))
}

// TestTheLastBytes that a server allows.
func TestTheLastBytes(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	b := NewBytes(enginetest.On(t, raw), fresh(t, raw))
	_, err := b.WriteAt(t.Context(), []byte("x"), 512<<20)
	require.ErrorContains(t, err, "maximum allowed size")
	require.Equal(t, "none", state(t, raw, b.Name()))
	for what, op := range map[string]func() error{
		"read":     func() error { _, err := b.ReadAt(t.Context(), make([]byte, 1), -1); return err },
		"write":    func() error { _, err := b.WriteAt(t.Context(), make([]byte, 1), -1); return err },
		"beyond":   func() error { _, err := b.WriteAt(t.Context(), make([]byte, 2), 1<<63-1); return err },
		"truncate": func() error { _, err := b.Truncate(t.Context(), -1); return err },
	} {
		require.ErrorIs(t, op(), ErrInvalidArgument, what)
	}
	n, err := b.ReadAt(t.Context(), make([]byte, 1), 1<<62)
	require.Zero(t, n)
	require.Equal(t, io.EOF, err)
	_, err = b.ReadAt(canceled(), make([]byte, 1), 0)
	require.ErrorIs(t, err, context.Canceled)
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
