package keywalk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAServerSaysWhatItHas(t *testing.T) {
	t.Parallel()
	v, err := parse("07c 127.0.0.1:30004@31004,host slave e7d 0 1426238317239 4 connected\n" +
		"e7d 127.0.0.1:30001@31001 myself,master - 0 0 17 connected 0-2 7 16383 [7->-07c] [93-<-67e]\n")
	require.NoError(t, err)
	require.Equal(t, "e7d", v.id)
	require.Equal(t, "17", v.epoch)
	var want view
	for _, slot := range []int{0, 1, 2, 7, 16383} {
		want.owns[slot] = true
	}
	want.gives[7], want.gets[93] = true, true
	want.id, want.epoch = v.id, v.epoch
	require.Equal(t, want, v)
	for _, bad := range []string{"", "e7d x myself - 0 0 1 connected 16384", "e7d x myself - 0 0 1 connected [7]", "e7d x myself - 0 0 1 connected a-b"} {
		_, err := parse(bad)
		require.Error(t, err, bad)
	}
}

func TestWhatIsSettled(t *testing.T) {
	t.Parallel()
	of := func(slot uint16) (s slots) { s[slot] = true; return s }
	has := func(id string) view { return view{id: id, epoch: "1", owns: of(5)} }
	gives := func(id string) view { return view{id: id, epoch: "1", owns: of(5), gives: of(5)} }
	gets := func(id string) view { return view{id: id, epoch: "1", gets: of(5)} }
	later := func(v view) view { v.epoch = "2"; return v }
	for what, one := range map[string]struct {
		looks [][2]view
		seen  bool
	}{
		"it stays":              {[][2]view{{has("a"), has("a")}}, true},
		"it went and came back": {[][2]view{{has("a"), later(has("a"))}}, false},
		"it begins to move":     {[][2]view{{has("a"), gives("a")}}, false},
		"it moves":              {[][2]view{{gives("a"), gives("a")}}, false},
		"the same again":        {[][2]view{{gives("a"), gives("a")}, {gives("a"), gives("a")}}, false},
		"the one that gets, and before that the one that gives": {[][2]view{{gives("a"), gives("a")}, {gets("b"), gets("b")}}, true},
		"the other way round":          {[][2]view{{gets("b"), gets("b")}, {gives("a"), gives("a")}}, false},
		"it has moved":                 {[][2]view{{has("a"), {id: "a"}}, {has("b"), has("b")}}, true},
		"it came while it was scanned": {[][2]view{{{id: "b"}, has("b")}}, false},
		"it came for good":             {[][2]view{{gives("a"), gives("a")}, {gets("b"), later(has("b"))}}, true},
		"it came, and is given on":     {[][2]view{{gives("a"), gives("a")}, {gets("b"), later(gives("b"))}}, false},
		"it is given on":               {[][2]view{{gives("a"), gives("a")}, {gives("b"), gives("b")}}, false},
	} {
		w := walk{left: of(5)}
		for _, look := range one.looks {
			w.settled(look[0], look[1])
		}
		require.Equal(t, one.seen, w.left.none(), what)
	}
}
