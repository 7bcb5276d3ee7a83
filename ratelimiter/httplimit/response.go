package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// Response is what a handler answered.
type Response struct {
	// Request is what was answered.
	Request *http.Request

	// Status is 200 if the handler did not name one, 101 if it took over the
	// connection, and 500 if it panicked before it answered.
	Status int

	// Header is the response's, not to be changed.
	Header http.Header
}

// Succeeded reports whether the status is below 400. As predicate of [RefundIf] it refunds such
// requests, so that only failures count.
func Succeeded(r Response) bool { return r.Status < 400 }

// Failed reports whether the status is 400 or above. As predicate of [RefundIf] it refunds such
// requests, so that only successes count.
func Failed(r Response) bool { return r.Status >= 400 }

// recorder notes the status of a response. http.ResponseController finds what
// it does not know by Unwrap.
type recorder struct {
	http.ResponseWriter
	status int
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// note keeps the first status that is not followed by another one.
func (w *recorder) note(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
}

func (w *recorder) WriteHeader(status int) {
	w.note(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	w.note(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// ReadFrom lets net/http send files by the kernel, where it can.
func (w *recorder) ReadFrom(from io.Reader) (int64, error) {
	w.note(http.StatusOK)
	return io.Copy(w.ResponseWriter, from)
}

// asCapableAs returns the recorder as a writer that can be flushed, taken over and
// asked to push if its own can: some handlers ask for that by a type assertion.
func (w *recorder) asCapableAs(own http.ResponseWriter) http.ResponseWriter {
	f, flushes := own.(http.Flusher)
	h, hijacks := own.(http.Hijacker)
	if p, pushes := own.(http.Pusher); pushes {
		return w.pushing(p, flushes, flusher{w, f}, hijacks, hijacker{w, h})
	}
	switch {
	case flushes && hijacks:
		return struct {
			*recorder
			flusher
			hijacker
		}{w, flusher{w, f}, hijacker{w, h}}
	case flushes:
		return struct {
			*recorder
			flusher
		}{w, flusher{w, f}}
	case hijacks:
		return struct {
			*recorder
			hijacker
		}{w, hijacker{w, h}}
	}
	return w
}

// pushing is asCapableAs for writers of HTTP/2. What is pushed is a request of
// its own, which comes by the limit again.
func (w *recorder) pushing(p http.Pusher, flushes bool, f flusher, hijacks bool, h hijacker) http.ResponseWriter {
	switch {
	case flushes && hijacks:
		return struct {
			*recorder
			flusher
			hijacker
			http.Pusher
		}{w, f, h, p}
	case flushes:
		return struct {
			*recorder
			flusher
			http.Pusher
		}{w, f, p}
	case hijacks:
		return struct {
			*recorder
			hijacker
			http.Pusher
		}{w, h, p}
	}
	return struct {
		*recorder
		http.Pusher
	}{w, p}
}

type flusher struct {
	rec *recorder
	own http.Flusher
}

func (f flusher) Flush() { _ = f.FlushError() }

func (f flusher) FlushError() error {
	f.rec.note(http.StatusOK)
	if own, ok := f.own.(interface{ FlushError() error }); ok {
		return own.FlushError()
	}
	f.own.Flush()
	return nil
}

type hijacker struct {
	rec *recorder
	own http.Hijacker
}

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := h.own.Hijack()
	if err == nil {
		h.rec.note(http.StatusSwitchingProtocols)
	}
	return conn, buffered, err
}
