package set

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/send"
)

// mostMembers bounds the members of one command: the server does nothing else meanwhile.
const mostMembers = 2000

// mostWalked bounds the members of a page. The server goes from bucket to bucket for them.
const mostWalked = 1000

// pages walks the set of a key, some members at a time, by one of the scripts that include page.lua.
func (h *hub) pages(ctx context.Context, by send.Operation, key string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for w := hashscan.Begin(); ; {
			var texts []string
			next, err := w.Step(hashscan.Config{Page: mostWalked}, func(a hashscan.Ask) (hashscan.Page, error) {
				p, err := h.page(ctx, by, key, a)
				texts = p.Texts
				return p, err
			}, func() (string, error) {
				return send.Reading(h.e.Sender, ctx, func() (string, error) { return hashscan.Server(ctx, h.e, key) })
			})
			if err != nil {
				yield(nil, err)
				return
			}
			if w = next; len(texts) > 0 && !yield(texts, nil) || w.Over() {
				return
			}
		}
	}
}

func (h *hub) page(ctx context.Context, by send.Operation, key string, a hashscan.Ask) (hashscan.Page, error) {
	return send.Reading(h.e.Sender, ctx, func() (hashscan.Page, error) {
		if err := h.e.Open(); err != nil {
			return hashscan.Page{}, err
		}
		args := append([]string{a.Cursor}, a.Bounds()...)
		return hashscan.ByScript(h.e.Run(ctx, a.Expecting(by), []string{key}, args))
	})
}

// walked yields the members of pages.
func walked[T any](ctx context.Context, b *base, m *members[T], op string, failed func(op string, err error) error, pages iter.Seq2[[]string, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err := b.Usable(ctx); err != nil {
			yield(none, failed(op, err))
			return
		}
		for texts, err := range pages {
			if err != nil {
				yield(none, failed(op, err))
				return
			}
			for _, text := range texts {
				v, err := m.value(text)
				if !yield(v, core.Notice(failed(op, err))) {
					return
				}
			}
		}
	}
}
