package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rueidisson/rueidisson/internal/send"
)

// Bytes is a handle on the bytes of one name, which are read and written in parts. Redisson's RBinaryStream shares it. It
// is the same string as that of a [Bucket], without a codec. A handle
// holds nothing, so it may be used by any number of goroutines, and any number
// of handles on one name are the same bytes.
type Bytes struct{ measured }

// NewBytes returns a handle on the bytes of that name.
func NewBytes(c Client, name string) *Bytes {
	return &Bytes{measured{common{newBase(c.Engine(), "bytes", name, nil)}}}
}

// piece is how many bytes one command reads or writes at most: others wait for it on the same connection.
const piece = 256 << 10

// ReadAt reads up to len(p) bytes from an offset, as io.ReaderAt does: with fewer it returns why there are no more, io.EOF
// at the end. Where there is no such key it returns io.EOF. What others write meanwhile may be in some pieces and
// not in others.
//
// Cost: one command for each 256 KB. Errors: io.EOF; ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and
// the network's. Source: RBinaryStream.getInputStream.
func (b *Bytes) ReadAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	if err = b.offset(off, len(p)); err != nil {
		return 0, b.b.Failed("read", err)
	}
	for n < len(p) && err == nil {
		var got int
		got, err = b.readPiece(ctx, p[n:min(len(p), n+piece)], off+int64(n))
		n += got
	}
	return n, err
}

// readPiece reads with one command. With fewer bytes than p has it returns io.EOF.
func (b *Bytes) readPiece(ctx context.Context, p []byte, off int64) (n int, err error) {
	text, err := read(ctx, b.b, func(got send.Answer, err error) (string, error) {
		text, _, err := send.Text(got, err)
		return text, err
	}, getrange, decimal(off), decimal(off+int64(len(p))-1))
	if err != nil {
		return 0, notTheEnd{b.b.Failed("read", err)}
	}
	if n = copy(p, text); n < len(p) {
		err = io.EOF
	}
	return n, err
}

// notTheEnd is an error that does not wrap io.EOF, as that of a connection which broke may: a reader would take it for the
// end of the bytes.
type notTheEnd struct{ why error }

// Error returns the text of the error that it hides.
func (e notTheEnd) Error() string { return e.why.Error() }

// Is reports whether the error wraps target.
func (e notTheEnd) Is(target error) bool { return target != io.EOF && errors.Is(e.why, target) }

// As finds an error of the type that target points at.
func (e notTheEnd) As(target any) bool { return errors.As(e.why, target) }

// offset refuses what is no offset of n bytes.
func (b *Bytes) offset(off int64, n int) error {
	if off < 0 || off+int64(n) < off {
		return fmt.Errorf("%w: offset %d of %d bytes", ErrInvalidArgument, off, n)
	}
	return nil
}

// WriteAt writes p at an offset, as io.WriterAt does. What lies between the end and the offset becomes zeros: the server
// makes room for all of it at once, 512 MB at most. The time to live stays. Each piece is sent once. After an error, n
// bytes are written; after [ErrOutcomeUnknown] up to 256 KB more may be.
//
// Cost: one command for each 256 KB; half a millisecond of the server for a megabyte of zeros. Errors: [ErrOutcomeUnknown];
// [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RBinaryStream.getChannel,
// write.
func (b *Bytes) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	if err = b.offset(off, len(p)); err != nil {
		return 0, b.b.Failed("write", err)
	}
	for n < len(p) {
		some := p[n:min(len(p), n+piece)]
		if _, err = write(ctx, b.b, send.Number, setrange, decimal(off+int64(n)), string(some)); err != nil {
			return n, b.b.Failed("write", err)
		}
		n += len(some)
	}
	return n, nil
}

// Append writes p at the end, and returns how many bytes there are then. The time to live stays. Each piece is sent once.
// What others append meanwhile may come between two pieces. With an error size is that after the last piece which is known
// to be written, 0 if there is none; after [ErrOutcomeUnknown] up to 256 KB more may be.
//
// Cost: one command for each 256 KB. Errors: as WriteAt. Source: RBinaryStream.getOutputStream.
func (b *Bytes) Append(ctx context.Context, p []byte) (size int64, err error) {
	size, _, err = b.append(ctx, p)
	return size, err
}

func (b *Bytes) append(ctx context.Context, p []byte) (size int64, n int, err error) {
	if len(p) == 0 {
		size, err = read(ctx, b.b, send.Number, strlen)
		return size, 0, b.b.Failed("append to", err)
	}
	for n < len(p) {
		some := p[n:min(len(p), n+piece)]
		now, err := write(ctx, b.b, send.Number, appends, string(some))
		if err != nil {
			return size, n, b.b.Failed("append to", err)
		}
		size, n = now, n+len(some)
	}
	return size, n, nil
}

// Truncate cuts the bytes to the first n, and returns how many there are then. Fewer stay as they are. The time to live
// stays.
//
// Cost: one script call, in which the server copies n bytes: 3 to 6 ms for each megabyte. Errors: as WriteAt. Source:
// RBinaryStream.getChannel, truncate, which drops the time to live.
func (b *Bytes) Truncate(ctx context.Context, n int64) (size int64, err error) {
	if n < 0 {
		err = fmt.Errorf("%w: a length of %d bytes", ErrInvalidArgument, n)
	} else {
		size, err = write(ctx, b.b, send.Number, truncateScript, decimal(n))
	}
	return size, b.b.Failed("truncate", err)
}

// Reader returns a reader of the bytes, from the start. ctx bounds all that it does. One goroutine may use
// it at a time, except for ReadAt.
func (b *Bytes) Reader(ctx context.Context) *Reader { return &Reader{b: b, ctx: ctx} }

// Reader reads bytes one after the other. It is an io.ReadSeeker, an io.ReaderAt and an io.WriterTo.
type Reader struct {
	b   *Bytes
	ctx context.Context
	at  int64
}

var (
	_ io.ReadSeeker = (*Reader)(nil)
	_ io.ReaderAt   = (*Reader)(nil)
	_ io.WriterTo   = (*Reader)(nil)
)

// Read reads up to 256 KB, or io.EOF at the end. Each Read is a command: give it a large p, or use a bufio.Reader.
//
// Cost: one command. Errors: as [Bytes.ReadAt].
func (r *Reader) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err = r.b.readPiece(r.ctx, p[:min(len(p), piece)], r.at)
	r.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil // the next Read says so
	}
	return n, err
}

// ReadAt does what [Bytes.ReadAt] does, with its cost and errors.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) { return r.b.ReadAt(r.ctx, p, off) }

// Seek sets the offset of the next Read, as io.Seeker does.
//
// Cost: one command from the end, else none. Errors: as [Bytes.ReadAt].
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	var from int64
	var err error
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		from = r.at
	case io.SeekEnd:
		from, err = read(r.ctx, r.b.b, send.Number, strlen)
	default:
		err = fmt.Errorf("%w: whence %d", ErrInvalidArgument, whence)
	}
	if err == nil && from+offset < 0 { // or beyond the largest
		err = fmt.Errorf("%w: offset %d from %d", ErrInvalidArgument, offset, from)
	}
	if err != nil {
		return 0, r.b.b.Failed("seek in", err)
	}
	r.at = from + offset
	return r.at, nil
}

// WriteTo writes all that is left to w, in pieces of 256 KB, as io.Copy does.
//
// Cost: one command for each 256 KB. Errors: as [Bytes.ReadAt], and w's.
func (r *Reader) WriteTo(w io.Writer) (n int64, err error) {
	p := make([]byte, piece)
	for {
		got, err := r.b.readPiece(r.ctx, p, r.at)
		if got > 0 {
			wrote, err := w.Write(p[:got])
			r.at, n = r.at+int64(wrote), n+int64(wrote)
			if err == nil && wrote < got {
				err = io.ErrShortWrite
			}
			if err != nil {
				return n, err
			}
		}
		switch err {
		case nil:
		case io.EOF:
			return n, nil
		default:
			return n, err
		}
	}
}

// Writer returns a writer of the bytes. ctx bounds all that it does. Any number of goroutines may use it.
func (b *Bytes) Writer(ctx context.Context) *Writer { return &Writer{b, ctx} }

// Writer writes bytes. It is an io.Writer, which appends, an io.WriterAt and an io.ReaderFrom.
type Writer struct {
	b   *Bytes
	ctx context.Context
}

var (
	_ io.Writer     = (*Writer)(nil)
	_ io.WriterAt   = (*Writer)(nil)
	_ io.ReaderFrom = (*Writer)(nil)
)

// Write appends p, as [Bytes.Append] does, with its cost and errors. n is how many bytes are known to be written.
func (w *Writer) Write(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	_, n, err = w.b.append(w.ctx, p)
	return n, err
}

// WriteAt does what [Bytes.WriteAt] does, with its cost and errors.
func (w *Writer) WriteAt(p []byte, off int64) (n int, err error) { return w.b.WriteAt(w.ctx, p, off) }

// ReadFrom appends what r has, in pieces of 256 KB, as io.Copy does.
//
// Cost: one command for each 256 KB. Errors: as [Bytes.Append], and r's.
func (w *Writer) ReadFrom(r io.Reader) (n int64, err error) {
	p := make([]byte, piece)
	for {
		var got, some int
		for err == nil && got < len(p) {
			some, err = r.Read(p[got:])
			got += some
		}
		wrote, failed := w.Write(p[:got])
		n += int64(wrote)
		switch {
		case failed != nil:
			return n, failed
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		}
	}
}
