class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[50000, 32]", arg1_1: "i64[512, 20]", arg2_1: "f32[640, 128]", arg3_1: "f32[128]"):
         # File: toy/model.py:31 in forward, code: e = self.emb(ids)
        embedding: "f32[512, 20, 32]" = torch.ops.aten.embedding.default(arg0_1, arg1_1);  arg0_1 = arg1_1 = None

         # File: toy/model.py:33 in forward, code: h = self.fc(e.flatten(1))
        view: "f32[512, 640]" = torch.ops.aten.view.default(embedding, [512, 640]);  embedding = None
        addmm: "f32[512, 128]" = torch.ops.aten.addmm.default(arg3_1, view, arg2_1);  arg3_1 = view = arg2_1 = None

         # File: toy/model.py:34 in forward, code: h = h * torch.sigmoid(h)
        sigmoid: "f32[512, 128]" = torch.ops.aten.sigmoid.default(addmm)
        mul: "f32[512, 128]" = torch.ops.aten.mul.Tensor(addmm, sigmoid);  addmm = sigmoid = None

         # File: toy/model.py:35 in forward, code: return torch.topk(h, 10)
        topk = torch.ops.aten.topk.default(mul, 10);  mul = None
        getitem: "f32[512, 10]" = topk[0]
        getitem_1: "i64[512, 10]" = topk[1];  topk = None
        return (getitem, getitem_1)
