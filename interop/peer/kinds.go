package peer

import (
	"context"
	"strconv"
	"time"
)

// RingBuffer is an RRingBuffer of Redisson, as one Java thread uses it.
type RingBuffer struct{ Queue }

// RingBuffer returns the ring buffer of that name with a codec of its own, used by the thread.
func (p *Peer) RingBuffer(thread, name, codec string) RingBuffer {
	return RingBuffer{Queue{p.mapOf("ringbuffer", thread, name, codec)}}
}

// SetCapacity sets how many elements there may be.
func (q RingBuffer) SetCapacity(ctx context.Context, n int) error {
	return q.void(ctx, "setCapacity", strconv.Itoa(n))
}

// Capacity returns how many elements there may be; 0 if nobody has set it.
func (q RingBuffer) Capacity(ctx context.Context) (int64, error) { return q.number(ctx, "capacity") }

// ScoredSet is an RScoredSortedSet of Redisson, as one Java thread uses it.
type ScoredSet struct{ object }

// ScoredSet returns the sorted set of that name with a codec of its own, used by the thread.
func (p *Peer) ScoredSet(thread, name, codec string) ScoredSet {
	return ScoredSet{p.mapOf("scoredsortedset", thread, name, codec)}
}

// Add puts an element there; false if it was.
func (s ScoredSet) Add(ctx context.Context, score float64, v Datum) (bool, error) {
	return s.truth(ctx, "add", strconv.FormatFloat(score, 'g', -1, 64), v)
}

// AddAll puts elements with their scores there, and returns how many were not.
func (s ScoredSet) AddAll(ctx context.Context, scores map[Datum]float64) (int64, error) {
	var words []any
	for v, score := range scores {
		words = append(words, strconv.FormatFloat(score, 'g', -1, 64), v)
	}
	return s.number(ctx, "addAll", words...)
}

// AddIf does tryAdd, addIfExists, addIfLess or addIfGreater.
func (s ScoredSet) AddIf(ctx context.Context, operation string, score float64, v Datum) (bool, error) {
	return s.truth(ctx, operation, strconv.FormatFloat(score, 'g', -1, 64), v)
}

// AddScore returns the new score of an element, as Java spells it.
func (s ScoredSet) AddScore(ctx context.Context, delta float64, v Datum) (string, error) {
	reply, err := s.do(ctx, "addScore", strconv.FormatFloat(delta, 'g', -1, 64), v)
	if err != nil {
		return "", err
	}
	return reply.Text()
}

// Rank returns the rank of an element, RevRank that from the highest score.
func (s ScoredSet) Rank(ctx context.Context, v Datum) (int64, error) { return s.number(ctx, "rank", v) }

// RevRank returns how many elements have higher scores.
func (s ScoredSet) RevRank(ctx context.Context, v Datum) (int64, error) {
	return s.number(ctx, "revRank", v)
}

// Count returns how many elements have a score from one to below another.
func (s ScoredSet) Count(ctx context.Context, from, below float64) (int64, error) {
	return s.number(ctx, "count", from, below)
}

// RemoveRangeByRank returns how many elements it has removed, from one rank through another.
func (s ScoredSet) RemoveRangeByRank(ctx context.Context, from, through int) (int64, error) {
	return s.number(ctx, "removeRangeByRank", from, through)
}

// RemoveRangeByScore returns how many elements it has removed, with scores from one to below another.
func (s ScoredSet) RemoveRangeByScore(ctx context.Context, from, below float64) (int64, error) {
	return s.number(ctx, "removeRangeByScore", from, below)
}

// PollFirstOf takes elements of the lowest scores.
func (s ScoredSet) PollFirstOf(ctx context.Context, n int) ([]Datum, error) {
	return s.list(ctx, "pollFirstOf", n)
}

// EntryRange returns elements by their ranks, each followed by its score, a text.
func (s ScoredSet) EntryRange(ctx context.Context, from, through int) ([]Datum, error) {
	return s.list(ctx, "entryRange", from, through)
}

// EntryRangeByScore returns elements with scores from one to below another, each followed by its score, a text.
func (s ScoredSet) EntryRangeByScore(ctx context.Context, from, below float64) ([]Datum, error) {
	return s.list(ctx, "entryRangeByScore", from, below)
}

// Combine does union, intersection or diff into the set, and returns how many elements it has then.
func (s ScoredSet) Combine(ctx context.Context, operation string, names ...string) (int64, error) {
	words := make([]any, len(names))
	for i, name := range names {
		words[i] = name
	}
	return s.number(ctx, operation, words...)
}

// LexSet is an RLexSortedSet of Redisson, as one Java thread uses it.
type LexSet struct{ object }

// LexSet returns the set of texts of that name, used by the thread.
func (p *Peer) LexSet(thread, name string) LexSet {
	return LexSet{p.mapOf("lexsortedset", thread, name, "String")}
}

// AddAll adds texts; false if all were there.
func (s LexSet) AddAll(ctx context.Context, texts ...any) (bool, error) {
	return s.truth(ctx, "addAll", texts...)
}

// Range returns the texts from one to before another.
func (s LexSet) Range(ctx context.Context, from, before string) ([]Datum, error) {
	return ScoredSet(s).list(ctx, "range", from, before)
}

// RangeTail returns the texts after one.
func (s LexSet) RangeTail(ctx context.Context, after string) ([]Datum, error) {
	return ScoredSet(s).list(ctx, "rangeTail", after)
}

// Count returns how many texts there are from one to before another.
func (s LexSet) Count(ctx context.Context, from, before string) (int64, error) {
	return s.number(ctx, "count", from, before)
}

// RemoveRange removes the texts from one to before another, and returns how many there were.
func (s LexSet) RemoveRange(ctx context.Context, from, before string) (int64, error) {
	return s.number(ctx, "removeRange", from, before)
}

// Rank returns how many texts come before one.
func (s LexSet) Rank(ctx context.Context, text string) (int64, error) {
	return s.number(ctx, "rank", text)
}

// Remove removes a text.
func (s LexSet) Remove(ctx context.Context, text string) (bool, error) {
	return s.truth(ctx, "remove", text)
}

// PollFirst takes the first text, null for none.
func (s LexSet) PollFirst(ctx context.Context) (Datum, error) { return s.datum(ctx, "pollFirst") }

func (s ScoredSet) list(ctx context.Context, operation string, args ...any) ([]Datum, error) {
	reply, err := s.do(ctx, operation, args...)
	if err != nil {
		return nil, err
	}
	return reply.data()
}

// Score returns the score of an element, as Java spells it; "null" if it is not there.
func (s ScoredSet) Score(ctx context.Context, v Datum) (string, error) {
	reply, err := s.do(ctx, "getScore", v)
	if err != nil {
		return "", err
	}
	return reply.Text()
}

// Remove removes an element.
func (s ScoredSet) Remove(ctx context.Context, v Datum) (bool, error) {
	return s.truth(ctx, "remove", v)
}

// PollFirst takes the element of the lowest score, null for none.
func (s ScoredSet) PollFirst(ctx context.Context) (Datum, error) { return s.datum(ctx, "pollFirst") }

// PollLast takes the element of the highest score, null for none.
func (s ScoredSet) PollLast(ctx context.Context) (Datum, error) { return s.datum(ctx, "pollLast") }

// TakeFirst takes the element of the lowest score when there is one.
func (s ScoredSet) TakeFirst(ctx context.Context) (Datum, error) { return s.datum(ctx, "takeFirst") }

// TakeLast takes the element of the highest score when there is one.
func (s ScoredSet) TakeLast(ctx context.Context) (Datum, error) { return s.datum(ctx, "takeLast") }

// First returns the element of the lowest score, null for none.
func (s ScoredSet) First(ctx context.Context) (Datum, error) { return s.datum(ctx, "first") }

// ReadAll returns all elements, in their order.
func (s ScoredSet) ReadAll(ctx context.Context) ([]Datum, error) { return s.list(ctx, "readAll") }

// Stream is an RStream of Redisson, as one Java thread uses it.
type Stream struct{ object }

// Stream returns the stream of that name with a codec of its own, used by the thread.
func (p *Peer) Stream(thread, name, codec string) Stream {
	return Stream{p.mapOf("stream", thread, name, codec)}
}

// StreamEntry is an entry of a stream: its fields are a HashMap, as JSON.
type StreamEntry struct {
	ID     string
	Fields Datum
}

// Add appends an entry of fields, each with its value behind it, and returns its ID.
func (s Stream) Add(ctx context.Context, fields ...Datum) (string, error) {
	var words []any
	for _, d := range fields {
		words = append(words, d)
	}
	reply, err := s.do(ctx, "add", words...)
	if err != nil {
		return "", err
	}
	return reply.Text()
}

// Range returns all entries.
func (s Stream) Range(ctx context.Context) ([]StreamEntry, error) { return s.entries(ctx, "range") }

// CreateGroup makes a group that begins with the first entry, and the stream.
func (s Stream) CreateGroup(ctx context.Context, group string) error {
	return s.void(ctx, "createGroup", group)
}

// ReadGroup reads up to so many entries that nobody of the group has, and waits for them.
func (s Stream) ReadGroup(ctx context.Context, group, consumer string, n int, wait time.Duration) ([]StreamEntry, error) {
	return s.entries(ctx, "readGroup", group, consumer, strconv.Itoa(n), wait)
}

// AutoClaim takes over what others have not acknowledged for so long.
func (s Stream) AutoClaim(ctx context.Context, group, consumer string, idle time.Duration) ([]StreamEntry, error) {
	return s.entries(ctx, "autoClaim", group, consumer, idle)
}

// Ack acknowledges an entry, and returns how many that were.
func (s Stream) Ack(ctx context.Context, group, id string) (int64, error) {
	return s.number(ctx, "ack", group, id)
}

func (s Stream) entries(ctx context.Context, operation string, args ...any) ([]StreamEntry, error) {
	reply, err := s.do(ctx, operation, args...)
	if err != nil {
		return nil, err
	}
	all, err := reply.data()
	if err != nil {
		return nil, err
	}
	entries := make([]StreamEntry, len(all)/2)
	for i := range entries {
		entries[i] = StreamEntry{all[2*i].Text, all[2*i+1]}
	}
	return entries, nil
}
