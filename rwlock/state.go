package rwlock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/lock"
)

// holder is one field of the hash that is not the mode.
type holder struct {
	owner string
	count int
}

// state is the mode and the holders of the lock.
type state struct {
	mode    string // read, write, or "" if the lock is free
	left    time.Duration
	holders []holder
}

func (s *server) inspect(ctx context.Context) (st state, err error) {
	answer, err := s.e.Run(ctx, inspectScript, []string{s.name}, nil)
	if err != nil || answer.Nil {
		return st, err
	}
	parts, err := answer.ToArray()
	if err != nil || len(parts)%2 == 0 {
		return st, fmt.Errorf("inspect.lua answered %v: %w", parts, err)
	}
	left, err := parts[0].AsInt64()
	st.left = remaining(left)
	for i := 1; i < len(parts); i += 2 {
		field, _ := parts[i].ToString()
		if field == "mode" {
			st.mode, err = parts[i+1].ToString()
			continue
		}
		count, _ := parts[i+1].AsInt64() // 0: not a field of a holder
		st.holders = append(st.holders, holder{field, int(count)})
	}
	return st, err
}

// remaining converts a time to live in ms; -1 means that it never expires.
func remaining(millis int64) time.Duration {
	if millis < 0 {
		return -1
	}
	return time.Duration(millis) * time.Millisecond
}

// readers returns the holders that read. In write mode, that may be the writer's own owner.
func (st state) readers() (all []holder) {
	for _, h := range st.holders {
		if h.count > 0 && !isWriter(h.owner) {
			all = append(all, h)
		}
	}
	return all
}

// writer returns the writer; its owner is empty if there is none.
func (st state) writer() holder {
	for _, h := range st.holders {
		if st.mode == writeKind && isWriter(h.owner) {
			return h
		}
	}
	return holder{}
}

func isWriter(owner string) bool { return strings.HasSuffix(owner, ":write") }

// holderOf converts a holder to the exported type.
func (s *server) holderOf(h holder, left time.Duration) lock.Holder {
	client, _, _ := strings.Cut(h.owner, ":")
	return lock.Holder{Owner: h.owner, Count: h.count, Remaining: left, Mine: client == s.client()}
}

// readers returns the readers, with the rest of each one's own lease.
func (s *server) readers(ctx context.Context) ([]lock.Holder, error) {
	st, err := s.inspect(ctx)
	if err != nil {
		return nil, err
	}
	readers := st.readers()
	all := make([]lock.Holder, 0, len(readers))
	for len(readers) > 0 {
		n := min(len(readers), perClear)
		left, err := s.leases(ctx, readers[:n])
		if err != nil {
			return nil, err
		}
		for i, r := range readers[:n] {
			all = append(all, s.holderOf(r, left[i]))
		}
		readers = readers[n:]
	}
	return all, nil
}

// leases returns the rest of each reader's last level: 0 if it has ended.
func (s *server) leases(ctx context.Context, readers []holder) ([]time.Duration, error) {
	on := make([]string, len(readers))
	for i, r := range readers {
		on[i] = keys.ReaderMark(s.name, r.owner, r.count)
	}
	answer, err := s.e.Run(ctx, leasesScript, on, nil)
	if err != nil {
		return nil, err
	}
	millis, err := answer.AsIntSlice()
	left := make([]time.Duration, len(readers))
	for i, m := range millis {
		if left[i] = remaining(m); m == -2 {
			left[i] = 0
		}
	}
	return left, err
}
