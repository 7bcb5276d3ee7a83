package bucket

import "strings"

// Width is how many bytes a number takes in a bucket's state, the highest first.
const Width = 7

// Pack writes numbers of less than 2^55 as they stand there.
func Pack(numbers ...int64) string {
	var text strings.Builder
	text.Grow(Width * len(numbers))
	for _, n := range numbers {
		for shift := 8 * (Width - 1); shift >= 0; shift -= 8 {
			text.WriteByte(byte(n >> shift))
		}
	}
	return text.String()
}

// Unpack reads the number at a place.
func Unpack(text string, place int) int64 {
	text = text[Width*place : Width*(place+1)]
	n := int64(int8(text[0]))
	for i := 1; i < Width; i++ {
		n = n<<8 | int64(text[i])
	}
	return n
}
