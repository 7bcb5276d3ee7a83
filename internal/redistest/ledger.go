package redistest

import "strings"

// ledger matches the replies of one connection with the commands that they answer. RESP answers in order, with two
// exceptions: messages answer nothing, and a command that changes subscriptions is answered by a confirmation for each of
// its channels, which looks like a message. The zero value is ready for use.
type ledger struct {
	waiting  []*sentCommand
	channels map[string]map[string]bool // subscribed to, by kind: "", "p", "s"
}

type sentCommand struct {
	cmd      []string
	held     *Held
	confirms string // subscription commands: the first word of the confirmations
	left     int    // confirmations to come; 0 before the first of a command without channels
	answer   []byte // what the client gets in place of the reply
	again    bool   // the second run of a command: the client gets no reply
}

// sent notes a command that goes to the server now.
func (l *ledger) sent(cmd []string, held *Held) *sentCommand {
	s := &sentCommand{cmd: cmd, held: held}
	if word := strings.ToLower(cmd[0]); isConfirmation(word) {
		s.confirms, s.left = word, len(cmd)-1
	}
	l.waiting = append(l.waiting, s)
	return s
}

// received returns the command whose reply is complete with this frame, nil if there is none.
func (l *ledger) received(frame any) *sentCommand {
	items, pushed := frame.(push)
	if !pushed {
		items, _ = frame.([]any)
	}
	word, channel := text(items, 0), text(items, 1)
	switch {
	case isConfirmation(word) && (pushed || l.awaits(word)):
		return l.confirmed(word, channel)
	case pushed || l.isMessage(word):
		return nil
	}
	return l.first()
}

func (l *ledger) first() *sentCommand {
	if len(l.waiting) == 0 {
		return nil
	}
	s := l.waiting[0]
	l.waiting = l.waiting[1:]
	return s
}

// confirmed handles one confirmation. The server also sends them unasked, when a slot moves away.
func (l *ledger) confirmed(word, channel string) *sentCommand {
	asked := l.awaits(word)
	if asked && l.waiting[0].left == 0 {
		l.waiting[0].left = max(1, len(l.channels[kind(word)]))
	}
	l.note(word, channel)
	if !asked {
		return nil
	}
	if l.waiting[0].left--; l.waiting[0].left > 0 {
		return nil
	}
	return l.first()
}

// note keeps the set of channels: an unsubscription from all is confirmed once for each.
func (l *ledger) note(word, channel string) {
	k := kind(word)
	if strings.Contains(word, "unsubscribe") {
		delete(l.channels[k], channel)
		return
	}
	if l.channels == nil {
		l.channels = map[string]map[string]bool{"": {}, "p": {}, "s": {}}
	}
	l.channels[k][channel] = true
}

func (l *ledger) awaits(word string) bool {
	return word != "" && len(l.waiting) > 0 && l.waiting[0].confirms == word
}

// isMessage recognises the messages of RESP2, which are plain arrays.
func (l *ledger) isMessage(word string) bool {
	k, ok := strings.CutSuffix(word, "message")
	return ok && len(l.channels[k]) > 0
}

// abandon returns, and forgets, what the server will not answer any more.
func (l *ledger) abandon() []*sentCommand {
	lost := l.waiting
	l.waiting = nil
	return lost
}

func isConfirmation(word string) bool {
	switch word {
	case "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe":
		return true
	}
	return false
}

// kind returns "p" for patterns, "s" for sharded channels, "" for plain ones.
func kind(word string) string {
	for _, suffix := range []string{"unsubscribe", "subscribe"} {
		if k, ok := strings.CutSuffix(word, suffix); ok {
			return k
		}
	}
	return ""
}

func text(items []any, i int) string {
	if i >= len(items) {
		return ""
	}
	s, _ := items[i].(string)
	return s
}
