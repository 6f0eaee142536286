package csidriver

import (
	"bytes"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// unknownCapability is a capability number that no version of the CSI spec has given out.
const unknownCapability = 9999

// replyWith replaces reply by the given kind of nonsense. A kind that does not fit the reply leaves it alone.
func replyWith(kind Nonsense, reply proto.Message) proto.Message {
	switch kind {
	case NonsenseEmpty:
		return reply.ProtoReflect().New().Interface()
	case NonsenseWrongType:
		return wrongType(reply)
	case NonsenseGarbage:
		// A tag without its value: every protobuf reader stops here with an error.
		return rawMessage([]byte{0xff, 0xff, 0xff, 0xff})
	case NonsenseHuge:
		return rawMessage(hugeField())
	case NonsenseUnknownEnum:
		return withUnknownCapability(reply)
	default:
		return reply
	}
}

// wrongType is a message that means something, but not as an answer to the call.
func wrongType(reply proto.Message) proto.Message {
	if _, same := reply.(*csi.GetPluginInfoResponse); same {
		return &csi.NodeGetInfoResponse{NodeId: "\x01", MaxVolumesPerNode: -1}
	}
	return &csi.GetPluginInfoResponse{Name: "wrong-type", VendorVersion: "wrong-type"}
}

// rawMessage marshals to exactly these bytes.
func rawMessage(raw []byte) proto.Message {
	m := &emptypb.Empty{}
	m.ProtoReflect().SetUnknown(raw)
	return m
}

// hugeField is one length-delimited field, number 15, of 5 MiB.
func hugeField() []byte {
	const size = 5 << 20
	head := []byte{15<<3 | 2, size&0x7f | 0x80, size>>7&0x7f | 0x80, size>>14&0x7f | 0x80, size >> 21}
	return append(head, bytes.Repeat([]byte{'x'}, size)...)
}

func withUnknownCapability(reply proto.Message) proto.Message {
	switch r := reply.(type) {
	case *csi.NodeGetCapabilitiesResponse:
		r.Capabilities = append(r.Capabilities, nodeCapability(unknownCapability))
	case *csi.ControllerGetCapabilitiesResponse:
		r.Capabilities = append(r.Capabilities, controllerCapability(unknownCapability))
	}
	return reply
}
