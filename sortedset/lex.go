package sortedset

import (
	"context"
	"fmt"
	"iter"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Lex is a handle on the set of texts of one name in the order of their bytes, which Redisson's RLexSortedSet shares: a sorted set
// whose scores are all 0. It holds nothing, so it may be used by any number of goroutines, and any
// number of handles on one name are the same set.
type Lex struct {
	common
	members[string]
}

// NewLex returns a handle on the set of texts of that name.
func NewLex(c Client, name string) *Lex {
	e := c.Engine()
	return &Lex{common{newBase(e, "set of texts", name, nil)}, members[string]{e, name, codec.For[string](codec.Text)}}
}

// Span is the texts from From on that come before Before. An empty Before is no bound, so the zero value is all texts.
type Span struct{ From, Before string }

// Prefix returns the texts that begin with a text.
func Prefix(text string) Span {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] < 0xff {
			return Span{text, text[:i] + string([]byte{text[i] + 1})}
		}
	}
	return Span{From: text}
}

// Through returns the texts from first through last.
func Through(first, last string) Span { return Span{first, last + "\x00"} }

// bounds returns a span as ZLEXCOUNT takes it.
func (s Span) bounds() (lowest, highest string) {
	if s.Before == "" {
		return "[" + s.From, "+"
	}
	return "[" + s.From, "(" + s.Before
}

// Add adds texts, and returns how many were not there before. After an error some may have been added.
//
// Cost: one command for each 1,000 texts, or for as many as have 1 MB; none without texts. Errors: as [Set.Add]. Source:
// RLexSortedSet.add, addAll.
func (l *Lex) Add(ctx context.Context, texts ...string) (added int64, err error) {
	err = l.b.Usable(ctx)
	words := make([]string, 0, 2*len(texts))
	for _, text := range texts {
		if err != nil {
			break
		}
		text, err = l.text(text)
		words = append(words, "0", text)
	}
	if err == nil {
		added, err = inParts(words, 2, func(some []string) (int64, error) {
			return write(ctx, l.b, send.Number, zadd, l.b.Keys, some...)
		})
	}
	return added, l.b.Failed("add to", err)
}

// Range walks the texts of a span in their order, or [WithDescending], as [Set.All] walks members.
//
// Cost and errors: as [Set.All]. Source: RLexSortedSet.range, iterator.
func (l *Lex) Range(ctx context.Context, span Span, opts ...RangeOption) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		lowest, highest := span.bounds()
		for is, err := range l.b.walk(ctx, l.fit(span), begin{at: "first"}, lowest, highest, opts) {
			text := ""
			if err == nil {
				text, err = l.value(is.text)
				err = core.Notice(err)
			}
			if !yield(text, l.b.Failed("walk", err)) {
				return
			}
		}
	}
}

// fit refuses a span that is too long.
func (l *Lex) fit(span Span) error {
	if err := l.e.Fits(len(span.From) + len(span.Before)); err != nil {
		return fmt.Errorf("span: %w", err)
	}
	return nil
}

// Count returns how many texts of a span there are.
//
// Cost: one command. Errors: as [Set.Score]. Source: RLexSortedSet.count.
func (l *Lex) Count(ctx context.Context, span Span) (n int64, err error) {
	if err = l.b.Usable(ctx); err == nil {
		err = l.fit(span)
	}
	if err == nil {
		lowest, highest := span.bounds()
		n, err = read(ctx, l.b, send.Number, zlexcount, lowest, highest)
	}
	return n, l.b.Failed("count", err)
}

// Rank returns how many texts come before a text, and whether it is there.
//
// Cost: one command. Errors: as [Set.Score]. Source: RLexSortedSet.rank, contains.
func (l *Lex) Rank(ctx context.Context, text string) (rank int64, there bool, err error) {
	return rankOf(ctx, l.b, &l.members, zrank, text)
}

// Remove removes texts, and returns how many were there. After an error some may have been removed.
//
// Cost: one command for each 1,000 texts, or for as many as have 1 MB; none without texts. Errors: as [Set.Add]. Source:
// RLexSortedSet.removeAll.
func (l *Lex) Remove(ctx context.Context, texts ...string) (removed int64, err error) {
	return remove(ctx, l.b, &l.members, texts)
}

// RemoveRange removes the texts of a span, as [Set.RemoveByScore] removes members, and returns how many there were.
//
// Cost: one script call for each 1,000 texts. Errors: as [Set.Add]. Source: RLexSortedSet.removeRange.
func (l *Lex) RemoveRange(ctx context.Context, span Span) (removed int64, err error) {
	if err = l.b.Usable(ctx); err == nil {
		err = l.fit(span)
	}
	if err == nil {
		lowest, highest := span.bounds()
		removed, err = l.b.removeWithin(ctx, lowest, highest)
	}
	return removed, l.b.Failed("remove from", err)
}

// PopMin removes the first n texts, and returns them, as [Set.PopMin] does with members.
//
// Cost and errors: as [Set.PopMin]. Source: RLexSortedSet.pollFirst.
func (l *Lex) PopMin(ctx context.Context, n int) ([]string, error) {
	all, err := popped(ctx, l.b, &l.members, n, zpopmin, false)
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = e.Value
	}
	return texts, err
}

// Check does what [Set.Check] does.
//
// Cost and errors: as [Set.Check].
func (l *Lex) Check(ctx context.Context) error { return l.b.check(ctx, lexCommands, lexScripts) }
